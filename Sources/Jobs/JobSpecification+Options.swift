import JSONText
import TextSupport

extension JobSpecification {
  /// Those among ``options`` that no file can have.
  package static let ownKeys = ["madeOf", "replacements", "earlierAttempts"]

  /// The ``options`` as its file gives them, where ``maxAttempts`` is what its type has come to.
  package var optionsOfFile: String? {
    var specification = self
    specification.maxAttempts = ownMaxAttempts
    return specification.options
  }

  /// The keys of a job file that the job's record keeps as text, beside its attributes; nil if there are none.
  package var options: String? {
    var object: JSONObject = [:]
    if let maxAttempts { object["maxAttempts"] = .integer(Int64(maxAttempts)) }
    if let timeout { object["timeout"] = .string(TimeSpan.text(of: timeout)) }
    if let backoff {
      object["backoff"] = .object([
        "kind": .string(backoff.growth.rawValue), "base": .string(TimeSpan.text(of: backoff.base)),
        "limit": .string(TimeSpan.text(of: backoff.limit)), "jitter": .number(backoff.jitter),
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
    if earlierAttempts != 0 { object["earlierAttempts"] = .integer(Int64(earlierAttempts)) }
    return object.isEmpty ? nil : JSONValue.object(object).serialized()
  }

  /// The mark of an ID that the daemon has made, where nothing else is said: most jobs have that, so that it is not parsed.
  static func onlyMark(in options: String) -> String? {
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
