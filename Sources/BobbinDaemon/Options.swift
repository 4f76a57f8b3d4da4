import TextSupport

/// The command line of a daemon.
struct Options {
  let root: String?
  let configurationFile: String?
  let checksConfiguration: Bool
  let buries: Bool
  let pauses: Bool
  let showsHelp: Bool
  let showsVersion: Bool

  static func help(of program: String) -> String {
    """
    \(program): runs the jobs that are dropped into a spool directory

    usage: \(program) [--root DIR] [--config FILE] [--check-config | --bury | --pause]

      --root DIR       keep everything under DIR (spool, state, run, etc), made if missing; without it that of the
                       variable BOBBIN_ROOT counts, and without both the system's paths apply: /var/spool/bobbin,
                       /var/lib/bobbin, /run/bobbin.sock, /etc/bobbin
      --config FILE    read FILE instead of bobbin.conf
      --check-config   check configuration and models, report every mistake, and exit
      --bury           tell a fleet that the daemon of this root is dead, if it is, and exit
      --pause          have the next start begin no job until "bobbinctl resume", and exit: for a store that was restored
      --version        print the version
      --help           print this

    exit status: 0 stopped in order, 64 wrong arguments, 69 another daemon runs there, 70 an internal failure,
    74 the store failed (start again: nothing acknowledged is lost), 75 other hosts have taken over (start again), 78 wrong configuration, model or store
    """
  }

  /// - Parameter environment: the variables of the process.
  init(_ arguments: [String], program: String, environment: [String: String]) throws(UsageError) {
    let parsed = ParsedArguments(
      arguments,
      options: [
        // The last one counts, so that a drop-in can append to the arguments of a unit.
        Option("--root", .required("DIR"), help: "Keep everything under DIR", isRepeatable: true),
        Option("--config", .required("FILE"), help: "Read FILE instead of bobbin.conf", isRepeatable: true),
        Option("--check-config", .none, help: "Check configuration and models"),
        Option("--bury", .none, help: "Tell a fleet that the daemon is dead"),
        Option("--pause", .none, help: "Have the next start begin no job"),
        Option("--version", .none, help: "Print the version"), Option("--help", .none, help: "Print the help"),
        Option("-h", .none, help: "Print the help"),
      ])
    let operand = parsed.operands.first.map { ["there is no argument \"\($0)\""] } ?? []
    if let problem = (parsed.problems + operand).first {
      throw UsageError("\(problem) (see \(program) --help)")
    }
    root = parsed.all("--root").last ?? environment["BOBBIN_ROOT"].flatMap { $0.isEmpty ? nil : $0 }
    configurationFile = parsed.all("--config").last
    checksConfiguration = parsed.has("--check-config")
    buries = parsed.has("--bury")
    pauses = parsed.has("--pause")
    showsHelp = parsed.has("--help") || parsed.has("-h")
    showsVersion = parsed.has("--version")
  }
}

/// A mistake on the command line.
struct UsageError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
