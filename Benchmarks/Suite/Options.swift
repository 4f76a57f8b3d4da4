/// The command line of `bobbin-bench`.
struct Options {
  /// The groups of figures to measure; nil for all.
  private(set) var only: Set<String>?
  /// How often both sides of a figure are measured, in turn.
  private(set) var pairs = 5
  /// Whether inputs are a tenth of the size; targets are meant for the full one.
  private(set) var isQuick = false
  /// Whether the figures of long lives take ten times as long.
  private(set) var isLong = false
  private(set) var showsHelp = false
  /// What this process was started for by the suite itself.
  private(set) var ownProcessRun: (run: OwnProcessRun, count: Int, folder: String)?

  static let help = """
    bobbin-bench: measures speed and memory against peers in the same run

    usage: bobbin-bench [--only NAME]... [--pairs N] [--quick] [--long]

      --only NAME   measure this group only: \(Suite.groupNames.joined(separator: ", "))
      --pairs N     measure both sides N times, in turn (default: 5)
      --quick       take a tenth of the input; a hint, not a verdict
      --long        measure "life" with 10,000,000 jobs and 100,000,000 rows, which takes half an hour, and "fleet-depth"
                    with a snapshot that is open for ten minutes

    exit status: 0 all targets hold, 1 one is missed, 64 wrong arguments, 70 a measurement failed
    """

  init(_ arguments: [String]) throws(BenchError) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--only":
        guard let name = rest.popFirst(), Suite.groupNames.contains(name) else {
          throw BenchError("--only needs one of \(Suite.groupNames.joined(separator: ", "))")
        }
        only = (only ?? []).union([name])
      case "--pairs":
        guard let count = rest.popFirst().flatMap(Int.init), count > 0 else {
          throw BenchError("--pairs needs a number of at least 1")
        }
        pairs = count
      case "--quick": isQuick = true
      case "--long": isLong = true
      case "--help", "-h": showsHelp = true
      case OwnProcessRun.option:
        guard let run = rest.popFirst().flatMap(OwnProcessRun.init), let count = rest.popFirst().flatMap(Int.init),
          let folder = rest.popFirst()
        else { throw BenchError("\(OwnProcessRun.option) is for the suite itself") }
        ownProcessRun = (run, count, folder)
      default: throw BenchError("unknown argument \"\(argument)\"; see bobbin-bench --help")
      }
    }
  }

  func includes(_ group: String) -> Bool { only?.contains(group) ?? true }
}
