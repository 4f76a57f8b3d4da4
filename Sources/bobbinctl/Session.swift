import Configuration
import ControlClient
import Foundation
import JSONText

/// The surroundings of a command: the daemon and the user.
struct Session {
  let client: ControlClient
  /// The daemon's paths; nil if only its socket is known.
  let paths: Paths?
  let printsJSON: Bool
  let output: Output

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
  func post(_ path: String, _ body: JSONValue) throws(ToolError) -> Reply {
    let data = Data(body.serializedBytes())
    // Commands for very many jobs take a while.
    let reply = try Reply.received(from: client, "POST", path, body: data, timeout: .seconds(150))
    try printJSON(of: reply)
    let accepted = try reply.accepted(refusal: .usage)
    if printsJSON, !accepted.isJSON { throw accepted.unreadable("it is not JSON") }
    return accepted
  }

  func printJSON(of reply: Reply) throws(ToolError) {
    guard printsJSON, reply.isJSON else { return }
    try output.write(reply.body)
    if reply.body.last != UInt8(ascii: "\n") { try output.write("\n") }
  }
}
