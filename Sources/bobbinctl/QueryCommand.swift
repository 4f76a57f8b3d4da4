import ControlClient
import Foundation
import JSONText
import StatusReplies
import SystemSupport
import TextSupport

/// `bobbinctl query`: rows that jobs have written.
struct QueryCommand: Subcommand {
  static let name = "query"
  static let usage =
    "query [--sort ATTRIBUTE]... [--expand RELATIONSHIP]... [--limit N] [--count] [--csv | --ndjson | --json] "
    + "ENTITY [PREDICATE]"
  static let summary = "Show objects that jobs have written, such as imported rows"
  static let details = """
    PREDICATE selects objects, as in:
      bobbinctl query Person 'age >= 18 AND name BEGINSWITH[c] "a"' --sort -age
    With --csv and --ndjson all of them are written, however many there are, and otherwise the first 100. On a terminal
    the table is cut to its width. What jobs have computed, but is not on disk yet, is not shown.
    """
  static let options = [
    Option(
      "--sort", .required("ATTRIBUTE"), help: "Sort by this; -ATTRIBUTE has the largest first; may be repeated",
      isRepeatable: true),
    Option(
      "--expand", .required("RELATIONSHIP"), help: "Show the objects that this leads to; may be repeated",
      isRepeatable: true),
    Option("--limit", .required("N"), help: "At most N objects; 1 to 1000 in a table and as JSON (default: 100)"),
    Option("--count", .none, help: "Print only how many there are"),
    Option("--csv", .none, help: "Write CSV with a header"),
    Option("--ndjson", .none, help: "Write an object of JSON on each line"),
  ]

  private let entity: String
  private let predicate: String?
  private let query: [URLQueryItem]
  /// The most objects of a table.
  private let limit: Int
  private let onlyCounts: Bool
  /// The format that is written as the daemon sends it, whatever its length.
  private let exported: String?

  init(_ arguments: inout ParsedArguments) {
    let operands = arguments.operands
    entity = operands.first ?? ""
    predicate = operands.count == 2 ? operands[1] : nil
    if entity.isEmpty || operands.count > 2 {
      arguments.addProblem("query takes an entity and perhaps a predicate, which is one argument: \(Self.usage)")
    }
    let formats = ["--csv", "--ndjson", "--json"].filter { arguments.has($0) }
    exported = formats.first.flatMap { $0 == "--json" ? nil : String($0.dropFirst(2)) }
    onlyCounts = arguments.has("--count")
    if formats.count > 1 { arguments.addProblem("\(formats.joined(separator: " and ")) exclude each other") }
    if onlyCounts, exported != nil || arguments.has("--limit") {
      arguments.addProblem("--count only counts; leave out --limit, --csv and --ndjson")
    }
    let limit = arguments.number("--limit", in: 1...(exported == nil ? 1_000 : Int.max))
    self.limit = limit ?? 100
    var items = [("predicate", predicate), ("limit", onlyCounts ? "1" : limit.map(String.init)), ("format", exported)]
    items += arguments.all("--sort").map { ("sort", $0) } + arguments.all("--expand").map { ("expand", $0) }
    if onlyCounts { items.append(("count", "true")) }
    query = items.compactMap { name, value in value.map { URLQueryItem(name: name, value: $0) } }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    if exported != nil {
      try export(session)
      return .success
    }
    let reply = try Reply.received(from: session.client, "GET", path, query: query, timeout: Self.patience)
    try session.printJSON(of: reply)
    try check(reply, session)
    if session.printsJSON { return .success }
    let document = try reply.document()
    guard var objects = document["objects"]?.array else { throw reply.unreadable("objects is missing") }
    if onlyCounts {
      guard let count = document["count"]?.integer else { throw reply.unreadable("count is missing") }
      try session.output.write("\(count)\n")
    } else if objects.isEmpty {
      session.output.note("no such objects")
    } else {
      // A reply is bounded in bytes as well.
      var next = document["next"]?.string
      while let cursor = next, objects.count < limit {
        let rest =
          query.filter { $0.name != "limit" } + [
            URLQueryItem(name: "limit", value: "\(limit - objects.count)"), URLQueryItem(name: "cursor", value: cursor),
          ]
        let reply = try Reply.received(from: session.client, "GET", path, query: rest, timeout: Self.patience)
        try check(reply, session)
        let more = try reply.document()
        objects += more["objects"]?.array ?? []
        next = more["next"]?.string
      }
      try session.output.write(ObjectTable.make(objects))
      if next != nil {
        session.output.note("the first \(objects.count) are shown; --limit shows more, --csv and --ndjson all")
      }
    }
    return .success
  }

  /// The daemon ends queries by itself, and lets nobody wait longer for a turn.
  private static let patience = Duration.seconds(630)

  private var path: String { ControlClient.path("v1", "objects", entity) }

  private func export(_ session: Session) throws(ToolError) {
    var failure: ToolError?
    let received: (status: Int, body: Data)
    do throws(ControlClientError) {
      received = try session.client.download(path, query: query, stall: Self.patience) { piece in
        do throws(ToolError) {
          try session.output.write(Data(piece))
          return true
        } catch {
          failure = error
          return false
        }
      }
    } catch {
      throw failure ?? ToolError(.unavailable, "the objects are not complete: " + error.message)
    }
    try check(Reply(status: received.status, body: received.body), session)
  }

  /// Says where the mistake in a predicate is.
  private func check(_ reply: Reply, _ session: Session) throws(ToolError) {
    do throws(ToolError) { _ = try reply.accepted(refusal: .usage) } catch {
      let content = try? JSONDecoder().decode(ErrorReply.self, from: reply.body).error
      guard let content, let predicate, let column = content.column else { throw error }
      session.output.note(error.message)
      session.output.point(at: column, in: predicate)
      throw ToolError(error.code, "the predicate can't be answered", hint: content.hint)
    }
  }
}

/// The table of objects, a column for each value.
enum ObjectTable {
  static func make(_ objects: [JSONValue]) -> Table {
    var names: [String] = []
    var known: Set<String> = []
    let rows = objects.map { object in
      var cells: [String: String] = [:]
      for (name, text) in fields(of: object) {
        cells[name] = text
        if known.insert(name).inserted { names.append(name) }
      }
      return cells
    }
    var table = Table(columns: names.map { Table.Column(title: displayName($0), isFlexible: $0 != "id") })
    table.rows = rows.map { cells in names.map { Table.Cell(sentence: cells[$0] ?? "") } }
    return table
  }

  /// The values of an object, those of expanded to-one relationships with the relationship's name before them.
  private static func fields(of object: JSONValue, behind prefix: String = "") -> [(name: String, text: String)] {
    var fields = [(prefix + "id", object["id"]?.string ?? "")]
    for (name, value) in object["values"]?.object ?? [:] {
      if value["values"] != nil {
        fields += Self.fields(of: value, behind: prefix + name + ".")
      } else {
        fields.append((prefix + name, text(value)))
      }
    }
    return fields
  }

  private static func text(_ value: JSONValue) -> String {
    switch value {
    case .null: return ""
    case .string(let text): return text
    case .object(let object):
      if let objects = object["objects"]?.array {
        return "\(objects.count)\(object["more"]?.bool == true ? "+" : "")"
      }
      if let bytes = object["bytes"]?.integer { return "\(bytes) bytes" }
      return object["id"]?.string ?? ""
    default: return value.serialized()
    }
  }
}
