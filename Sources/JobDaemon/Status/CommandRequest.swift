import JSONText
import Jobs

/// The request in the body of `POST /v1/commands`.
struct CommandRequest: Sendable, Equatable {
  /// The jobs that the command is for.
  enum Target: Sendable, Equatable {
    case ids([String])
    case all(JobSelection)
  }

  let command: JobControl.Command
  let target: Target
  /// The most IDs in one request.
  static let idLimit = 10_000

  private static let commands = ["cancel", "hold", "release", "retry", "redrive", "priority"]

  /// Reads a body.
  ///
  /// - Parameter user: the user who asks, for the reason in a cancelled job's record.
  /// - Throws: ``JobFileError`` that names the key.
  init(_ body: JSONValue, user: UInt32) throws(JobFileError) {
    guard let object = body.object else { throw JobFileError("the body must be an object, not \(body.kindName)") }
    let reader = try ArgumentReader(body, path: "")
    try reader.allow(["command", "jobs", "where", "value", "reason"])
    let name = try reader.requiredText("command")
    switch name {
    case "cancel": command = .cancel(reason: try reader.text("reason") ?? "cancelled by user \(user)")
    case "hold": command = .hold
    case "release": command = .release
    case "retry": command = .retry
    case "redrive": command = .redrive
    case "priority":
      guard let value = try reader.integer("value", in: -100...100) else { throw reader.error("is missing", "value") }
      command = .setPriority(value)
    default:
      throw reader.error("must be one of \(Self.commands.joined(separator: ", ")), but is \"\(name)\"", "command")
    }
    target = try Self.target(object, reader)
  }

  private static func target(_ object: JSONObject, _ reader: ArgumentReader) throws(JobFileError) -> Target {
    if let jobs = object["jobs"] {
      if object["where"] != nil { throw reader.error("can't stand beside \"jobs\"", "where") }
      guard let list = jobs.array, list.count <= idLimit, list.allSatisfy({ $0.string != nil }) else {
        throw reader.error("must be a list of at most \(idLimit) IDs", "jobs")
      }
      return .ids(list.compactMap(\.string))
    }
    guard let condition = object["where"] else {
      throw JobFileError("\"jobs\" or \"where\" must say which jobs are meant")
    }
    return .all(try JobSelection(condition))
  }
}

extension JobSelection {
  private static let keys = ["state", "queue", "type", "batch"]

  /// Reads `{"queue": "images", "state": ["waiting", "held"]}`; one state needs no list.
  fileprivate init(_ value: JSONValue) throws(JobFileError) {
    let reader = try ArgumentReader(value, path: "where")
    try reader.allow(Self.keys)
    self.init(
      states: try Self.states(value.object?["state"], reader), queue: try reader.text("queue"),
      type: try reader.text("type"),
      batch: try reader.text("batch"))
    // Nobody should cancel everything by mistake.
    if self == JobSelection() { throw JobFileError("must name \(Self.keys.joined(separator: ", "))", key: "where") }
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
