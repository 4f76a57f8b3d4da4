import ControlClient
import Foundation
import JSONText
import StatusReplies
import SystemSupport
import TextSupport

/// `bobbinctl rejects`: the records that an import rejected.
struct RejectsCommand: Subcommand {
  static let name = "rejects"
  static let usage = "rejects [--reasons | --output DIR] [--json] ID"
  static let summary = "Show the records that an import rejected, as a file of the input's format"
  static let details = """
    With --output, the records go into a file of that folder, beside a job file that imports them once they are
    corrected: the import's own, but for a text in UTF-8, which is not packed; "mirror" becomes "update", and
    "replaceAll" becomes "insert". With --reasons it shows where each record was, and what is wrong with it.
    """
  static let options = [
    Option("--reasons", .none, help: "Show line, column and reason instead of the records"),
    Option("--output", .required("DIR"), help: "Write the records and a job that imports them"),
  ]

  private let identifier: String
  private let showsReasons: Bool
  private let folder: String?

  init(_ arguments: inout ParsedArguments) {
    showsReasons = arguments.has("--reasons")
    folder = arguments["--output"]
    identifier = arguments.operands.first ?? ""
    if identifier.isEmpty || arguments.operands.count > 1 {
      arguments.addProblem("rejects takes one ID: \(Self.usage)")
    }
    if folder != nil, showsReasons || arguments.has("--json") {
      arguments.addProblem("--output writes the records; leave out --reasons and --json")
    }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    guard let folder else {
      try export(session) { (text) throws(ToolError) in try session.output.write(text) }
      return .success
    }
    let job = try session.get(ControlClient.path("v1", "jobs", identifier)).document()
    let first = try session.get(path, query: [URLQueryItem(name: "limit", value: "1")])
    guard try !first.decoded(as: RejectsReply.self).rejects.isEmpty else {
      session.output.note("no record of \"\(identifier)\" was rejected")
      return .success
    }
    let rest = RejectsJob(job, form: try first.document()["input"])
    let file = URL(filePath: folder).standardizedFileURL.appending(path: rest.fileName).path(percentEncoded: false)
    try Self.create(file) { (write) throws(ToolError) in try export(session, write) }
    let jobFile = file + ".job.json"
    try Self.create(jobFile) { (write) throws(ToolError) in
      try write(rest.job(input: file).serialized(pretty: true) + "\n")
    }
    session.output.note("wrote \(file) and \(jobFile); correct the one, then submit the other")
    return .success
  }

  private var path: String { ControlClient.path("v1", "jobs", identifier, "rejects") }

  /// Writes a new file.
  private static func create(
    _ path: String, _ body: ((String) throws(ToolError) -> Void) throws(ToolError) -> Void
  ) throws(ToolError) {
    let file: FileHandle
    do {
      try Data().write(to: URL(filePath: path), options: .withoutOverwriting)
      file = try FileHandle(forWritingTo: URL(filePath: path))
    } catch {
      let isThere = FileManager.default.fileExists(atPath: path)
      throw ToolError(
        .outputFailed, "\(path) can't be made: \(error.localizedDescription)",
        hint: isThere ? "remove what is there, or choose another folder" : "name a folder that you may write to")
    }
    func fail(_ error: any Error) -> ToolError {
      ToolError(.outputFailed, "\(path) can't be written: \(error.localizedDescription)")
    }
    try body { (text) throws(ToolError) in
      do { try file.write(contentsOf: Data(text.utf8)) } catch { throw fail(error) }
    }
    do { try file.close() } catch { throw fail(error) }
  }

  /// Writes the records or the reasons, page by page.
  private func export(_ session: Session, _ write: (String) throws(ToolError) -> Void) throws(ToolError) {
    var after: Int? = nil
    var shown = 0
    var undecodable = 0
    var isArray = false
    repeat {
      let reply = try session.get(path, query: after.map { [URLQueryItem(name: "after", value: "\($0)")] } ?? [])
      let page = try reply.decoded(as: RejectsReply.self)
      after = page.next
      if session.printsJSON { continue }
      if shown == 0 {
        isArray = page.input?.format == "json" && !showsReasons
        if page.rejects.isEmpty { session.output.note("no record of \"\(identifier)\" was rejected") }
        if page.found > page.total {
          session.output.note("\(page.found) records were rejected; the first \(page.total) were kept")
        }
        if !showsReasons, !page.rejects.isEmpty {
          if isArray { try write("[\n") }
          if let header = page.header { try write(header + "\n") }
        }
      }
      var text = ""
      for reject in page.rejects {
        if isArray, shown > 0 { text += ",\n" }
        text += showsReasons ? Self.reason(reject) : isArray ? reject.raw : reject.raw + "\n"
        if reject.rule == "encoding" { undecodable += 1 }
        shown += 1
      }
      try write(text)
    } while after != nil
    if isArray, shown > 0 { try write("\n]\n") }
    if undecodable > 0, !showsReasons {
      session.output.note(
        "\(undecodable) of the records had bytes that are no text; U+FFFD replaces them")
    }
  }

  private static func reason(_ reject: RejectsReply.Reject) -> String {
    let column = reject.column.map { ", \(displayName($0))" } ?? ""
    return "line \(reject.line)\(column): \(singleLine(reject.message)) (\(displayName(reject.rule)))\n"
  }
}

/// The job that imports the records that an import has rejected, once they are corrected.
struct RejectsJob {
  private let arguments: JSONObject
  private let form: JSONObject

  /// Arguments that apply to the first input, but not to a UTF-8 text of its records.
  private static let dropped: Set<String> = [
    "input", "compression", "encoding", "skipLines", "records", "maxDeletes", "dryRun",
  ]

  /// - Parameters:
  ///   - job: The import, as the daemon shows it.
  ///   - form: How its input is written.
  init(_ job: JSONValue, form: JSONValue?) {
    arguments = job["arguments"]?.object ?? [:]
    self.form = form?.object ?? [:]
  }

  /// A name for the file of records: that of the input, with what it is.
  var fileName: String {
    let input = arguments["input"]?.string ?? "records"
    let name = input.split(separator: "/").last?.split(separator: ".").first.map { String($0) } ?? "records"
    return "\(name)-rejects.\(form["format"]?.string ?? "csv")"
  }

  /// The job file's content.
  func job(input: String) -> JSONValue {
    var own: JSONObject = ["input": .string(input), "encoding": "utf-8", "compression": "none"]
    // What was detected about the input is stated: a few records may not be enough to detect it again.
    for (name, value) in form where !Self.dropped.contains(name) { own[name] = value }
    for (name, value) in arguments where !Self.dropped.contains(name) { own[name] = value }
    // A few records are not all that there is.
    switch own["mode"]?.string {
    case "mirror": own["mode"] = "update"
    case "replaceAll": own["mode"] = "insert"
    default: break
    }
    return .object(["type": "import", "arguments": .object(own)])
  }
}
