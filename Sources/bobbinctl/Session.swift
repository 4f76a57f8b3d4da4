import Configuration
import ControlClient
import Foundation
import JSONText
import StatusReplies
import SystemSupport

/// The surroundings of a command: the daemon and the user.
struct Session {
  let client: ControlClient
  /// The daemon's paths; nil if only its socket is known.
  let paths: Paths?
  private(set) var printsJSON: Bool
  let output: Output

  /// The session for a request whose reply nobody has asked to see.
  var withoutJSON: Session {
    var session = self
    session.printsJSON = false
    return session
  }

  /// - Parameters:
  ///   - root: The folder of the daemon's files, as `--root` names it; nil for that of `BOBBIN_ROOT`, or the system's.
  ///   - socket: The daemon's socket, which goes before that of the root.
  init(root: String?, socket: String?, printsJSON: Bool, output: Output) {
    let named = root ?? ProcessInfo.processInfo.environment["BOBBIN_ROOT"].flatMap { $0.isEmpty ? nil : $0 }
    let paths = named.map { Paths(root: $0) } ?? .system
    client = ControlClient(socketPath: socket ?? paths.socket)
    // Of a socket it is not known whose it is, unless the command line says it too.
    self.paths = socket == nil || root != nil ? paths : nil
    (self.printsJSON, self.output) = (printsJSON, output)
  }

  /// Asks for something and returns the reply if it is a good one.
  ///
  /// With `--json`, whatever JSON came is printed, errors too.
  /// - Parameter refusal: What a request that the daemon finds wrong means here.
  func get(_ path: String, query: [URLQueryItem] = [], refusal: ExitCode = .usage) throws(ToolError) -> Reply {
    let reply = try Reply.received(from: client, "GET", path, query: query)
    try printJSON(of: reply)
    let accepted = try reply.accepted(refusal: refusal)
    if printsJSON, !accepted.isJSON { throw accepted.unreadable("it is not JSON") }
    return accepted
  }

  /// Asks for a change and returns the reply if it was made.
  ///
  /// - Parameters:
  ///   - refusal: What a request that the daemon finds wrong means here.
  ///   - timeout: The time for the answer; commands for very many jobs take a while.
  func post(
    _ path: String, _ body: JSONValue, refusal: ExitCode = .usage, timeout: Duration = .seconds(150)
  ) throws(ToolError) -> Reply {
    let data = Data(body.serializedBytes())
    let reply = try Reply.received(from: client, "POST", path, body: data, timeout: timeout)
    try printJSON(of: reply)
    let accepted = try reply.accepted(refusal: refusal)
    if printsJSON, !accepted.isJSON { throw accepted.unreadable("it is not JSON") }
    return accepted
  }

  func printJSON(of reply: Reply) throws(ToolError) {
    guard printsJSON, reply.isJSON else { return }
    try output.write(reply.body)
    if reply.body.last != UInt8(ascii: "\n") { try output.write("\n") }
  }
}

/// A reply of the daemon, or of what answers in its place: nothing about its body is certain.
struct Reply {
  let status: Int
  let body: Data

  static func received(
    from client: ControlClient, _ method: String, _ path: String, query: [URLQueryItem] = [], body: Data? = nil,
    timeout: Duration = .seconds(30)
  ) throws(ToolError) -> Reply {
    try received(from: client, method, path, query: query, sending: body.map { .json($0) }, timeout: timeout)
  }

  static func received(
    from client: ControlClient, _ method: String, _ path: String, query: [URLQueryItem] = [],
    sending body: ControlClient.Body?, greet: ((Int32) -> Bool)? = nil, timeout: Duration
  ) throws(ToolError) -> Reply {
    do throws(ControlClientError) {
      let (status, body) = try client.send(
        method, path, query: query, sending: body, greet: greet, timeout: timeout)
      return Reply(status: status, body: body)
    } catch {
      let code: ExitCode =
        switch error.code {
        case .badRequest: .usage
        case .permissionDenied: .notPermitted
        default: .unavailable
        }
      throw ToolError(code, error.message)
    }
  }

  var isJSON: Bool {
    (try? JSONSerialization.jsonObject(with: body, options: .fragmentsAllowed)) != nil
  }

  /// The reply itself if its status says that all is well.
  ///
  /// - Parameter refusal: What a request that the daemon finds wrong means here.
  func accepted(refusal: ExitCode) throws(ToolError) -> Reply {
    let code: ExitCode
    switch status {
    case 200..<300: return self
    case 400, 409, 413, 415, 422: code = refusal
    case 403: code = .notPermitted
    case 404: code = .notFound
    case 429, 503, 504: code = .tryAgain
    default: code = .unavailable
    }
    guard let error = try? JSONDecoder().decode(ErrorReply.self, from: body).error else {
      throw ToolError(
        code, "the daemon answered with HTTP status \(status) and no readable error",
        hint: "is this the socket of bobbind, and its version near to \(Release.version)?")
    }
    let known: ExitCode? =
      switch error.code {
      case "id-taken": .different
      case "not-possible": .jobFailed
      default: nil
      }
    throw ToolError(known ?? code, error.message, hint: error.hint)
  }

  func decoded<Value: Decodable>(as type: Value.Type) throws(ToolError) -> Value {
    do {
      return try JSONDecoder().decode(type, from: body)
    } catch {
      throw unreadable(Self.explanation(of: error))
    }
  }

  /// The reply as it is, keys in their order.
  func document() throws(ToolError) -> JSONValue {
    do throws(JSONError) {
      // A job file's arguments lie deeper in a reply than they did in the file.
      return try JSONValue(parsing: body, limits: JSONLimits(depth: 256, duplicateKeys: .useLast))
    } catch {
      throw unreadable("\(error)")
    }
  }

  func unreadable(_ reason: String) -> ToolError {
    ToolError(
      .unavailable, "the daemon's reply can't be understood: \(reason)",
      hint: "this is bobbinctl \(Release.version); \"bobbinctl status --json\" shows bobbind's version, "
        + "and --json prints replies as they come")
  }

  private static func explanation(of error: any Error) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, let context):
      return "\(place(context.codingPath + [key])) is missing"
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
      return "\(place(context.codingPath)) has another type than expected"
    case DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty:
      return "\(place(context.codingPath)) has an unexpected value"
    default:
      return "it is not JSON"
    }
  }

  /// Such as `jobs[2].state`.
  private static func place(_ path: [any CodingKey]) -> String {
    let text = path.reduce(into: "") { text, key in
      text += key.intValue.map { "[\($0)]" } ?? (text.isEmpty ? "" : ".") + key.stringValue
    }
    return text.isEmpty ? "the document" : text
  }
}
