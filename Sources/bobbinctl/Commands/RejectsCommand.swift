import ControlClient
import Foundation
import SystemSupport

/// `bobbinctl rejects`: the records that an import did not take.
struct RejectsCommand: Command {
  static let name = "rejects"
  static let usage = "rejects [--reasons] [--json] ID"
  static let summary = "Show the records that an import rejected, as a file of the input's format"
  static let details = """
    Corrected, the file can be imported like the first one. With --reasons it shows where each record was, and what is
    wrong with it.
    """
  static let options = [Option("--reasons", .none, "Show line, column and reason instead of the records")]

  private let identifier: String
  private let showsReasons: Bool

  init(_ arguments: inout ParsedArguments) {
    showsReasons = arguments.has("--reasons")
    identifier = arguments.operands.first ?? ""
    if identifier.isEmpty || arguments.operands.count > 1 {
      arguments.addProblem("rejects takes one ID: \(Self.usage)")
    }
  }

  private struct RejectsReply: Decodable {
    struct Form: Decodable {
      let format: String?
    }

    struct Reject: Decodable {
      let line: Int
      let byteOffset: Int
      let column: String?
      let rule: String
      let message: String
      let raw: String
    }

    let total: Int
    let header: String?
    let input: Form?
    let rejects: [Reject]
    /// Where the next page begins; nil if there is none.
    let next: Int?
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    var after: Int? = nil
    var isFirst = true
    var isArray = false
    repeat {
      let reply = try session.get(
        ControlClient.path("v1", "jobs", identifier, "rejects"),
        query: after.map { [URLQueryItem(name: "after", value: "\($0)")] } ?? [])
      let page = try reply.decoded(as: RejectsReply.self)
      after = page.next
      if session.printsJSON { continue }
      if isFirst {
        isArray = page.input?.format == "json"
        if page.rejects.isEmpty { session.output.note("no record of \"\(identifier)\" was rejected") }
        if !showsReasons, !page.rejects.isEmpty {
          if isArray { try session.output.write("[\n") }
          if let header = page.header { try session.output.write(header + "\n") }
        }
      }
      var text = ""
      for reject in page.rejects {
        if showsReasons {
          text += Self.reason(reject)
        } else {
          if isArray, !isFirst { text += ",\n" }
          text += isArray ? reject.raw : reject.raw + "\n"
        }
        isFirst = false
      }
      try session.output.write(text)
    } while after != nil
    if isArray, !isFirst, !showsReasons, !session.printsJSON { try session.output.write("\n]\n") }
    return .success
  }

  private static func reason(_ reject: RejectsReply.Reject) -> String {
    let column = reject.column.map { ", \(displayName($0))" } ?? ""
    return "line \(reject.line)\(column): \(singleLine(reject.message)) (\(displayName(reject.rule)))\n"
  }
}
