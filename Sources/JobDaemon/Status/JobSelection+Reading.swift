import Foundation
import HTTPService
import JSONText
import Jobs
import StatusReplies

/// Selections as requests name them, in the query of a list or in the body of a command.
extension JobSelection {
  static let keys = [
    "state", "type", "queue", "batch", "submitter", "since", "until", "file", "text", "argument",
  ]

  /// Its schema in the body of a command.
  static let schema: JSONValue = [
    "type": "object", "minProperties": 1, "additionalProperties": false,
    "properties": [
      "state": [
        "anyOf": [stateSchema, ["type": "array", "minItems": 1, "items": stateSchema]]
      ],
      "type": ["type": "string"], "queue": ["type": "string"], "batch": ["type": "string"],
      "submitter": ["type": "integer", "minimum": 0, "maximum": .integer(Int64(UInt32.max))],
      "since": ["type": "string", "format": "date-time"], "until": ["type": "string", "format": "date-time"],
      "file": ["type": "string"], "text": ["type": "string", "minLength": 1, "maxLength": 200],
      "argument": ["type": "object", "additionalProperties": ["type": "string"]],
    ],
  ]
  private static let stateSchema: JSONValue = [
    "type": "string", "enum": .array(JobState.allCases.map { .string($0.rawValue) }),
  ]

  /// Its items in the query of a list, as clients are told of them.
  static let query: [RouteDescription.Parameter] = [
    .text("state", "Only jobs in this state, or in one of several with commas between them"),
    .text("type", "Only jobs of this type"), .text("queue", "Only jobs of this queue"),
    .text("batch", "Only jobs of this batch"),
    .integer("submitter", in: 0...Int64(UInt32.max), "Only jobs of the user with this number"),
    .moment("since", "Only jobs that were accepted then or later"),
    .moment("until", "Only jobs that were accepted before"), .text("file", "Only jobs of the file with this name"),
    .text("text", "Only jobs with this in their ID, their file's name or their error, in upper or lower case"),
    .texts("argument", "Only jobs of which the argument with the name after the point is this text"),
  ]

  /// Reads `{"queue": "images", "state": ["waiting", "held"]}`; one state needs no list.
  ///
  /// - Throws: ``JobFileError`` that names the key.
  init(_ value: JSONValue, path: String) throws(JobFileError) {
    let reader = try ArgumentReader(value, path: path)
    try reader.allow(Self.keys)
    self.init(
      states: try Self.states(value["state"], reader), queue: try reader.text("queue"),
      type: try reader.text("type"), batch: try reader.text("batch"))
    if let user = try reader.integer("submitter", in: 0...Int(UInt32.max)) { record.submitter = UInt32(user) }
    record.since = try Self.moment("since", reader)
    record.until = try Self.moment("until", reader)
    record.file = try reader.text("file")
    if let text = try reader.text("text") {
      guard (1...200).contains(text.utf8.count) else { throw reader.error("must have 1 to 200 bytes", "text") }
      record.text = text
    }
    guard let arguments = value["argument"] else { return }
    guard let values = arguments.object else { throw reader.error("must be an object", "argument") }
    for (name, value) in values {
      guard let text = value.string else { throw reader.error("must have texts as values", "argument") }
      record.arguments[name] = text
    }
  }

  /// Reads the query of a request, in which other items may be as well.
  init(query request: HTTPRequest) throws(JobFileError) {
    var object: JSONObject = [:]
    for key in Self.keys.dropLast() {
      guard let text = request.query(key) else { continue }
      object[key] = .string(text)
    }
    if let states = object["state"]?.string {
      object["state"] = .array(
        states.split(separator: ",", omittingEmptySubsequences: false).map { .string(String($0)) })
    }
    if let user = object["submitter"]?.string.flatMap({ Int64($0) }) { object["submitter"] = .integer(user) }
    var arguments: JSONObject = [:]
    for item in request.target.queryItems where item.name.hasPrefix("argument.") {
      arguments[String(item.name.dropFirst("argument.".count))] = .string(item.value)
    }
    if !arguments.isEmpty { object["argument"] = .object(arguments) }
    try self.init(.object(object), path: "")
  }

  private static func moment(_ key: String, _ reader: ArgumentReader) throws(JobFileError) -> Date? {
    guard let text = try reader.text(key) else { return nil }
    guard let date = Timestamp(text: text).date else {
      throw reader.error("must be a moment such as 2026-11-21T10:00:00Z", key)
    }
    return date
  }

  private static func states(_ value: JSONValue?, _ reader: ArgumentReader) throws(JobFileError) -> Set<JobState> {
    guard let value, !value.isNull else { return [] }
    let names = value.array ?? [value]
    var states: Set<JobState> = []
    for name in names {
      guard let state = name.string.flatMap(JobState.init) else {
        let known = JobState.allCases.map(\.rawValue).joined(separator: ", ")
        throw reader.error("must be one of \(known), or a list of them, but is \(name.serialized())", "state")
      }
      states.insert(state)
    }
    if states.isEmpty { throw reader.error("must name a state", "state") }
    return states
  }
}
