import ControlClient
import StatusReplies
import TextSupport

/// `bobbinctl folders`: the hot folders, and what becomes of their files.
struct FoldersCommand: Subcommand {
  static let name = "folders"
  static let usage = "folders [--json]"
  static let summary = "List the hot folders: whether they are watched, and what became of their files"
  static let details = """
    A file folders.d/NAME.conf beside bobbin.conf declares a hot folder; bobbin-folder(5) describes it. WAITING files are
    still written, not quiet for long enough, or have no room yet; RUNNING counts those whose jobs are under way. JOBS,
    FAILED and LAST are since the start of the daemon. Each host of a fleet has its own.
    """

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first { arguments.addProblem("folders takes no argument, not \"\(operand)\"") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.get(ControlClient.path("v1", "folders"))
    if session.printsJSON { return .success }
    let folders = try reply.decoded(as: FoldersReply.self).folders
    let times = TimeText()
    var table = Table(columns: [
      .init(title: "NAME", isFlexible: true), .init(title: "STATE"), .init(title: "PATH", isFlexible: true),
      .init(title: "FILES", isFlexible: true), .init(title: "WAITING"), .init(title: "RUNNING"), .init(title: "JOBS"),
      .init(title: "FAILED"), .init(title: "LAST", isFlexible: true),
    ])
    table.rows = folders.map { folder in
      let last = folder.last.map { last in
        [last.path, last.time.map(times.relative)].compactMap(\.self).joined(separator: ", ")
      }
      return [
        .init(folder.name), .init(folder.state.rawValue, folder.problem == nil ? .plain : .bad), .init(folder.path),
        .init(folder.patterns.isEmpty ? "*" : folder.patterns.joined(separator: " ")),
        .init("\(folder.files.waiting)"), .init("\(folder.files.underWay)"), .init("\(folder.files.submitted)"),
        .init("\(folder.files.failed)", folder.files.failed == 0 ? .plain : .bad), .init(last ?? "-"),
      ]
    }
    try session.output.write(table)
    for folder in folders {
      for text in [folder.problem, folder.refusal].compactMap(\.self) { session.output.note("\(folder.name): \(text)") }
    }
    return .success
  }
}
