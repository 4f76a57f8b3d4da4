import Fleet
import Foundation
import JSONText
import Jobs
import StoreInterface

extension JSONValue {
  /// A replacement in the text of an order: a job's keys as its record has them.
  init(_ replacement: JobReplacement) {
    let specification = replacement.specification
    var object: JSONObject = [
      "job": .integer(replacement.job.key), "attempt": .integer(replacement.attemptKey),
      "type": .string(specification.type), "queue": .string(specification.queue),
      "priority": .integer(Int64(specification.priority)),
      "maxAttempts": .integer(Int64(specification.maxAttempts ?? 1)),
      "arguments": .string(specification.arguments.serialized()),
    ]
    object["batch"] = specification.batch.map(JSONValue.string)
    object["options"] = specification.options.map(JSONValue.string)
    object["place"] = replacement.place.map(JSONValue.string)
    object["notBefore"] = specification.notBefore.map { .number($0.timeIntervalSinceReferenceDate) }
    self = .object(object)
  }

  /// Other arguments in the text of an order.
  init(_ change: ArgumentChange) {
    var object: JSONObject = [
      "job": .integer(change.job.key), "arguments": .string(change.arguments.serialized()),
      "seen": .string(change.seen.serialized()),
    ]
    object["place"] = change.place.map(JSONValue.string)
    self = .object(object)
  }

  fileprivate var real: Double? {
    switch self {
    case .number(let number): number
    case .integer(let number): Double(number)
    default: nil
    }
  }
}

extension JobReplacement {
  /// - Parameter id: makes the ID of a job of its key.
  init?(_ value: JSONValue, id: (Int64) -> ManagedObjectID) {
    guard let object = value.object, let job = object["job"]?.integer, let attempt = object["attempt"]?.integer,
      let type = object["type"]?.string, let queue = object["queue"]?.string,
      let priority = object["priority"]?.integer, let most = object["maxAttempts"]?.integer,
      let text = object["arguments"]?.string, let arguments = try? JSONValue(parsing: text.utf8)
    else { return nil }
    var specification = JobSpecification(
      type: type, queue: queue, priority: Int(priority), maxAttempts: Int(most), arguments: arguments)
    specification.batch = object["batch"]?.string
    specification.notBefore = object["notBefore"]?.real.map { Date(timeIntervalSinceReferenceDate: $0) }
    if let options = object["options"]?.string {
      guard (try? specification.readOptions(options)) != nil else { return nil }
    }
    self.init(job: id(job), specification: specification, place: object["place"]?.string, attemptKey: attempt)
  }
}

extension ArgumentChange {
  /// - Parameter id: makes the ID of a job of its key.
  init?(_ value: JSONValue, id: (Int64) -> ManagedObjectID) {
    guard let object = value.object, let job = object["job"]?.integer,
      let arguments = object["arguments"]?.string.flatMap({ try? JSONValue(parsing: $0.utf8) }),
      let seen = object["seen"]?.string.flatMap({ try? JSONValue(parsing: $0.utf8) })
    else { return nil }
    self.init(job: id(job), arguments: arguments, seen: seen, place: object["place"]?.string)
  }
}
