import Foundation
import JSONText
public import ObjectGraph
import TextSupport

extension Job {
  /// The job's state as it was last saved; a name that is not known reads as ``JobState/held``, so that a job of a
  /// newer daemon is kept and not run.
  public var currentState: JobState {
    get { JobState(rawValue: state) ?? .held }
    set { state = newValue.rawValue }
  }

  /// The event that is to end or hold the job as soon as its attempt has ended and is reverted; nil if there is none.
  ///
  /// It is on record, so that the next start applies it if the daemon ends in between.
  package var pendingStop: JobEvent? { stopEvent.flatMap(JobEvent.init) }

  /// - Parameter reason: the failure that the job's record gets in the end.
  package func setPendingStop(_ event: JobEvent?, _ reason: String? = nil) {
    stopEvent = event?.rawValue
    stopReason = reason
  }

  /// Sets all that a file says of the job but its ID.
  ///
  /// - Parameter maxAttempts: the number of attempts, those of earlier runs included.
  package func setSpecification(_ specification: JobSpecification, maxAttempts: Int) {
    type = specification.type
    queue = specification.queue
    priority = Int32(specification.priority)
    self.maxAttempts = Int32(clamping: maxAttempts)
    arguments = specification.arguments.serialized()
    options = specification.options
    batch = specification.batch
    dueAt = specification.notBefore
  }
}

extension JobSpecification {
  /// A job as its record has it.
  ///
  /// - Parameter withArguments: true to read the arguments, too.
  /// - Throws: ``JobFileError`` if the record was edited and is invalid.
  package init(record job: Job, withArguments: Bool = true) throws(JobFileError) {
    self.init(
      type: job.type, id: job.id, queue: job.queue, priority: Int(job.priority), maxAttempts: Int(job.maxAttempts))
    notBefore = job.dueAt
    batch = job.batch
    // The most common text need not be parsed.
    if withArguments && job.arguments != "{}" { arguments = try Self.document(job.arguments, "arguments").value }
    if let options = job.options {
      if let mark = Self.onlyMark(in: options) { madeOf = mark } else { try readOptions(options) }
    }
  }
}

extension JobSpecification {
  /// Those among ``options`` that no file can have.
  package static let ownKeys = ["madeOf", "replacements"]

  /// The keys of a job file that the job's record keeps as text, beside its attributes; nil if there are none.
  package var options: String? {
    var object: JSONObject = [:]
    if let maxAttempts { object["maxAttempts"] = .integer(Int64(maxAttempts)) }
    if let timeout { object["timeout"] = .string(TimeSpan.print(timeout)) }
    if let backoff {
      object["backoff"] = .object([
        "kind": .string(backoff.growth.rawValue), "base": .string(TimeSpan.print(backoff.base)),
        "limit": .string(TimeSpan.print(backoff.limit)), "jitter": .number(backoff.jitter),
      ])
    }
    if !after.isEmpty { object["after"] = .array(after.map(JSONValue.string)) }
    if !afterAny.isEmpty { object["afterAny"] = .array(afterAny.map(JSONValue.string)) }
    if let afterBatch { object["afterBatch"] = .string(afterBatch) }
    if let unique { object["unique"] = .string(unique) }
    if let limit {
      var value: JSONObject = ["key": .string(limit.key)]
      if let concurrent = limit.concurrent { value["concurrent"] = .integer(Int64(concurrent)) }
      if let rate = limit.rate { value["rate"] = .string(rate.text) }
      object["limit"] = .object(value)
    }
    if let place { object["place"] = .string(place) }
    if let trace {
      object["traceparent"] = .string(trace.parent)
      if let state = trace.state { object["tracestate"] = .string(state) }
    }
    if let madeOf { object["madeOf"] = .string(madeOf) }
    if !replacements.isEmpty { object["replacements"] = .array(replacements.map(JSONValue.string)) }
    return object.isEmpty ? nil : JSONValue.object(object).serialized()
  }

  /// The mark of an ID that the daemon has made, where nothing else is said: most jobs have that, so that it is not parsed.
  private static func onlyMark(in options: String) -> String? {
    let (start, end) = ("{\"madeOf\":\"", "\"}")
    guard options.utf8.count == start.utf8.count + StableHash.digitCount + end.utf8.count, options.hasPrefix(start),
      options.hasSuffix(end)
    else { return nil }
    return String(options.dropFirst(start.count).dropLast(end.count))
  }

  /// The trace in what ``options`` has written, for those who need nothing else of it.
  package static func trace(inOptions text: String?) -> TraceContext? {
    // Few jobs have one, and lists are long.
    guard let text, text.contains("\"traceparent\""),
      let object = (try? JSONValue(parsing: Array(text.utf8), dialect: .json))?.object
    else { return nil }
    return object["traceparent"]?.string.flatMap { TraceContext(parent: $0, state: object["tracestate"]?.string) }
  }

  /// Reads what ``options`` has written.
  package mutating func readOptions(_ text: String) throws(JobFileError) {
    let document = try Self.document(text, "options")
    ownMaxAttempts = document.value.object?["maxAttempts"]?.integer.flatMap { Int(exactly: $0) }
    try JobFileReader(document: document, isRecord: true).readOptions(
      document.value.object ?? [:], ["options"], into: &self)
  }

  /// An object that a record keeps as text.
  static func document(_ text: String, _ attribute: String) throws(JobFileError) -> JSONDocument {
    do throws(JSONError) {
      let document = try JSONDocument(parsing: Array(text.utf8))
      if document.value.object != nil { return document }
    } catch {
      throw JobFileError("the job's record can't be read: \(error.message)", key: attribute)
    }
    throw JobFileError("the job's record has something else than an object", key: attribute)
  }
}

extension FetchRequest<Job> {
  /// Makes a request for the jobs in one of some states, as they were last saved.
  package init(states: some Sequence<JobState>) throws {
    let names = states.map(\.rawValue)
    try self.init(#Predicate { names.contains($0.state) })
  }

  /// Makes a request for the jobs in a state, as it was last saved.
  package init(state: JobState) throws {
    let name = state.rawValue
    try self.init(#Predicate { $0.state == name })
  }

  /// Makes a request for the jobs with these IDs.
  package init(ids: some Sequence<String>) throws {
    let ids = Array(ids)
    try self.init(#Predicate { ids.contains($0.id) })
  }

  /// Makes a request for the jobs with these object IDs.
  package init(objectIDs: some Sequence<ManagedObjectID>) {
    self.init(.isAny(of: objectIDs))
  }
}

extension ManagedObjectContext {
  /// Returns the job with that object ID, with its values.
  ///
  /// - Throws: ``ObjectNotFound`` if there is no such job.
  public func job(with id: ManagedObjectID) throws -> Job {
    guard let job = try existingObject(with: id) as? Job else { throw ObjectNotFound(objectID: id) }
    return job
  }
}
