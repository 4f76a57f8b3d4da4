import ControlClient
import Foundation
import StatusReplies
import SystemSupport
import TextSupport

/// `bobbinctl explain`: what jobs can do with a path.
struct ExplainCommand: Subcommand {
  static let name = "explain"
  static let usage = "explain [--as USER] [--json] PATH"
  static let summary = "Explain what jobs can do with a file or folder, and what is in the way"
  static let details = """
    The daemon looks at the path with the rights of the user, its own, and the settings of its service. Only root may
    ask for other users. Exits with 1 if something is in the way of both reading and writing.
    """
  static let options = [
    Option("--as", .required("USER"), help: "As a job of this user, by name or number (default: yourself)")
  ]

  private let path: String
  private let user: String?

  init(_ arguments: inout ParsedArguments) {
    user = arguments["--as"]
    let operand = arguments.operands.first ?? ""
    if arguments.operands.count != 1 || operand.isEmpty {
      arguments.addProblem("a path is expected: \(Self.usage)")
    }
    path = operand.absolutePath(from: FileManager.default.currentDirectoryPath)
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let query = [URLQueryItem(name: "path", value: path)] + (user.map { [URLQueryItem(name: "user", value: $0)] } ?? [])
    let reply = try session.get(ControlClient.path("v1", "explain"), query: query)
    let access = try reply.decoded(as: ExplainReply.self)
    if !session.printsJSON { try session.output.write(Self.text(access)) }
    return access.writing.allowed || access.reading?.allowed == true ? .success : .jobFailed
  }

  static func text(_ reply: ExplainReply) -> String {
    let path = displayName(reply.path)
    let files = reply.isFolder ? "files in \(path)" : path
    var lines = ["jobs of \(reply.user), run by \(reply.daemon):"]
    if let reading = reply.reading { lines.append(line("read \(path)", reading)) }
    lines.append(line("write \(files)", reply.writing))
    return lines.joined(separator: "\n") + "\n"
  }

  private static func line(_ act: String, _ access: ExplainReply.Access) -> String {
    access.allowed ? "can \(act)" : "can't \(act): " + singleLine(access.reason ?? "no reason is given")
  }
}
