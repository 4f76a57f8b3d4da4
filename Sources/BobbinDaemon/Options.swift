/// The command line of a daemon.
struct Options {
  var root: String?
  var configurationFile: String?
  var checksConfiguration = false
  var showsHelp = false
  var showsVersion = false

  static func help(of program: String) -> String {
    """
    \(program): runs the jobs that are dropped into a spool directory

    usage: \(program) [--root DIR] [--config FILE] [--check-config]

      --root DIR       keep everything under DIR (spool, state, run, etc), made if missing; without it the system's
                       paths apply: /var/spool/bobbin, /var/lib/bobbin, /run/bobbin.sock, /etc/bobbin
      --config FILE    read FILE instead of bobbin.conf
      --check-config   check configuration and models, tell every mistake, and end
      --version        print the version
      --help           print this

    exit status: 0 stopped in order, 64 wrong arguments, 69 another daemon runs there, 70 an internal failure,
    74 the store failed (start again: nothing acknowledged is lost), 78 wrong configuration, model or store
    """
  }

  init(_ arguments: [String], program: String) throws(UsageError) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      var value: String? = parts.count == 2 ? parts[1] : nil
      switch parts[0] {
      case "--root", "--config":
        value = value ?? rest.popFirst()
        guard let value, !value.isEmpty else { throw UsageError("\(parts[0]) needs a path") }
        if parts[0] == "--root" { root = value } else { configurationFile = value }
      case "--check-config" where value == nil: checksConfiguration = true
      case "--help" where value == nil, "-h" where value == nil: showsHelp = true
      case "--version" where value == nil: showsVersion = true
      default: throw UsageError("unknown argument \"\(argument)\"; see \(program) --help")
      }
    }
  }
}

/// A mistake on the command line.
struct UsageError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
