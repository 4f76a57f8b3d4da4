import JSONText
import Jobs
import TextSupport

/// A message of a program to the daemon, a line on its standard output; the format is in
/// Documentation/ProcessHandlers.md.
enum OutputMessage: Sendable, Equatable {
  case progress(JobProgress)
  case insert([ObjectInsert])
  case result(JSONValue)
  case checkpoint(String)
  case log(String)
  case failure(JobFailure)
}

/// An object that a program wants inserted; not yet checked against the model.
struct ObjectInsert: Sendable, Equatable {
  let entity: String
  let values: JSONObject
}

/// A line of output that should be a message and is none, or one that can't be obeyed.
struct OutputError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The line on standard output, from 1.
  let line: Int
  let message: String

  var description: String { "line \(line) of its output: \(message)" }
}

extension OutputMessage {
  /// A mistake in a message, before its line is known.
  struct Problem: Error {
    let message: String
    init(_ message: String) { self.message = message }
  }

  static let keys = ["progress", "insert", "result", "checkpoint", "log", "error"]

  /// The messages of an object, in the order of its keys; none if it has no key of a message.
  static func read(_ object: JSONObject) throws(Problem) -> [OutputMessage] {
    guard object.contains(where: { keys.contains($0.key) }) else { return [] }
    var messages: [OutputMessage] = []
    for (key, value) in object {
      switch key {
      case "progress": messages.append(.progress(try progress(value)))
      case "insert": messages.append(.insert(try inserts(value)))
      case "result":
        guard value.object != nil else { throw Problem("\"result\" must be an object, not \(value.kindName)") }
        messages.append(.result(value))
      case "checkpoint": messages.append(.checkpoint(try text(value, key)))
      case "log": messages.append(.log(try text(value, key)))
      case "error": messages.append(.failure(try failure(value)))
      default: throw unknown(key, "", among: keys)
      }
    }
    return messages
  }

  private static func progress(_ value: JSONValue) throws(Problem) -> JobProgress {
    let object = try members(value, "progress", among: ["done", "total", "unit", "message"])
    var progress = JobProgress()
    guard let done = object["done"] else { throw Problem("\"progress.done\" is missing") }
    progress.done = try count(done, "progress.done")
    if let total = object["total"], !total.isNull { progress.total = try count(total, "progress.total") }
    if let unit = object["unit"] { progress.unit = try text(unit, "progress.unit") }
    if let message = object["message"], !message.isNull { progress.message = try text(message, "progress.message") }
    return progress
  }

  private static func inserts(_ value: JSONValue) throws(Problem) -> [ObjectInsert] {
    guard let list = value.array else { return [try insert(value, "insert")] }
    var inserts: [ObjectInsert] = []
    for (index, item) in list.enumerated() { inserts.append(try insert(item, "insert[\(index)]")) }
    return inserts
  }

  private static func insert(_ value: JSONValue, _ path: String) throws(Problem) -> ObjectInsert {
    let object = try members(value, path, among: ["entity", "values"])
    guard let entity = object["entity"] else { throw Problem("\"\(path).entity\" is missing") }
    guard let values = object["values"] else { throw Problem("\"\(path).values\" is missing") }
    guard let members = values.object else {
      throw Problem("\"\(path).values\" must be an object, not \(values.kindName)")
    }
    return ObjectInsert(entity: try text(entity, path + ".entity"), values: members)
  }

  private static func failure(_ value: JSONValue) throws(Problem) -> JobFailure {
    let object = try members(value, "error", among: ["message", "permanent"])
    guard let message = object["message"] else { throw Problem("\"error.message\" is missing") }
    var isPermanent = false
    if let permanent = object["permanent"] {
      guard let flag = permanent.bool else {
        throw Problem("\"error.permanent\" must be true or false, not \(permanent.kindName)")
      }
      isPermanent = flag
    }
    return JobFailure(try text(message, "error.message"), isPermanent: isPermanent)
  }

  private static func members(
    _ value: JSONValue, _ path: String, among known: [String]
  ) throws(Problem) -> JSONObject {
    guard let object = value.object else { throw Problem("\"\(path)\" must be an object, not \(value.kindName)") }
    for key in object.keys where !known.contains(key) { throw unknown(key, path + ".", among: known) }
    return object
  }

  private static func unknown(_ key: String, _ prefix: String, among known: [String]) -> Problem {
    let nearest = NearestName.find(key, in: known).map { "; did you mean \"\($0)\"?" } ?? ""
    return Problem("\"\(prefix)\(key)\" is not a key of a message\(nearest)")
  }

  private static func text(_ value: JSONValue, _ path: String) throws(Problem) -> String {
    guard let text = value.string else { throw Problem("\"\(path)\" must be a string, not \(value.kindName)") }
    return text
  }

  private static func count(_ value: JSONValue, _ path: String) throws(Problem) -> Int64 {
    guard let count = value.integer, count >= 0 else {
      throw Problem("\"\(path)\" must be a whole number from 0, not \(value.number.map { "\($0)" } ?? value.kindName)")
    }
    return count
  }
}
