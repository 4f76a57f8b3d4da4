import Foundation
import JSONText
import SystemSupport
import TextSupport

/// A reader of a job file's parsed text, which knows the line of each key.
struct JobFileReader {
  let document: JSONDocument
  /// True if it is part of a job's record, rather than a submitted file.
  var isRecord = false

  /// The jobs with their paths, and the keys of the file itself.
  struct Contents {
    var jobs: [(path: [String], value: JSONValue)]
    var batch: String?
    var hasCallback = false
    /// The trace of jobs that name none.
    var trace: TraceContext?
  }

  /// The most jobs that one file may hold.
  static let jobLimit = 100_000
  private static let fileKeys = ["jobs", "batch", "callback", "traceparent", "tracestate"]

  func contents() throws(JobFileError) -> Contents {
    guard let object = document.value.object else {
      throw JobFileError("a job file holds one object, not \(document.value.kindName)", line: 1)
    }
    guard let list = object["jobs"] else { return Contents(jobs: [([], document.value)]) }
    for key in object.keys where !Self.fileKeys.contains(key) { throw unknown(key, [], among: Self.fileKeys) }
    guard let array = list.array else { throw error("must be a list of jobs, not \(list.kindName)", ["jobs"]) }
    if array.isEmpty { throw error("is empty", ["jobs"]) }
    if array.count > Self.jobLimit {
      throw error("has \(array.count) jobs; a file may hold \(Self.jobLimit)", ["jobs"])
    }
    var contents = Contents(jobs: array.enumerated().map { (["jobs", String($0.offset)], $0.element) })
    if let batch = object["batch"] { contents.batch = try text(batch, ["batch"], limit: 200) }
    if let callback = object["callback"] {
      contents.jobs.append((["callback"], callback))
      contents.hasCallback = true
    }
    contents.trace = try trace(object, [])
    return contents
  }

  /// Checks a callback: it waits for all jobs of its file, so none of them may wait for it, nor may it be in its own
  /// batch.
  func check(
    _ callback: JobSpecification, of jobs: [JobSpecification], batch: String?
  ) throws(JobFileError) {
    if let batch, batch == callback.batch {
      throw error("is the batch \"\(batch)\" whose end it waits for", ["callback", "batch"])
    }
    guard let id = callback.id else { return }
    for (index, job) in jobs.dropLast().enumerated() where job.after.contains(id) || job.afterAny.contains(id) {
      let key = job.after.contains(id) ? "after" : "afterAny"
      throw error("names the callback, which waits for this job", ["jobs", String(index), key])
    }
  }

  func text(_ value: JSONValue, _ path: [String], limit: Int) throws(JobFileError) -> String {
    guard let text = value.string else { throw error("must be a string, not \(value.kindName)", path) }
    if text.isEmpty { throw error("must not be empty", path) }
    if text.utf8.count > limit { throw error("is longer than \(limit) bytes", path) }
    // A record may have been admitted when fewer characters were refused.
    if !isRecord, let scalar = text.unicodeScalars.first(where: \.isControlOrFormat) {
      let code = String(scalar.value, radix: 16, uppercase: true)
      let name = "U+" + String(repeating: "0", count: max(0, 4 - code.count)) + code
      throw error("must not contain control or invisible characters such as \(name)", path)
    }
    return text
  }

  func integer(_ value: JSONValue, _ path: [String], in range: ClosedRange<Int>) throws(JobFileError) -> Int {
    guard let number = value.integer else { throw error("must be a whole number, not \(value.kindName)", path) }
    guard let integer = Int(exactly: number), range.contains(integer) else {
      throw error("must lie between \(range.lowerBound) and \(range.upperBound), but is \(number)", path)
    }
    return integer
  }

  /// A time span: text such as `2m`, or a number of seconds.
  func duration(_ value: JSONValue, _ path: [String]) throws(JobFileError) -> Duration {
    let span = value.string ?? value.integer.map { "\($0)" } ?? ""
    guard let duration = TimeSpan.parse(span), duration > .zero, duration <= Self.longest else {
      throw error(
        "must be a time span of more than 0 and at most 10 years, such as \"250ms\", \"30s\", \"2m\" or \"1h 30min\"",
        path)
    }
    return duration
  }

  private static let longest = Duration.seconds(10 * 366 * 86_400)

  /// A moment by ISO 8601, with its distance from UTC.
  func moment(_ value: JSONValue, _ path: [String]) throws(JobFileError) -> Date {
    if let date = value.string.flatMap(Date.init(moment:)) { return date }
    throw error("must be a moment such as \"2026-11-21T10:00:00Z\" or \"2026-11-21T11:00:00+01:00\"", path)
  }

  /// One ID, or a list of them.
  func ids(_ value: JSONValue, _ path: [String]) throws(JobFileError) -> [String] {
    guard let array = value.array else { return [try text(value, path, limit: 200)] }
    if array.count > Self.dependencyLimit {
      throw error(
        "names \(array.count) jobs; \(Self.dependencyLimit) are the most. A batch with a callback has no such limit",
        path)
    }
    var ids: [String] = []
    for (index, element) in array.enumerated() { ids.append(try text(element, path + [String(index)], limit: 200)) }
    return ids
  }

  /// The most jobs that one job may wait for.
  private static let dependencyLimit = 1_000

  func unknown(_ key: String, _ path: [String], among known: [String]) -> JobFileError {
    let nearest = NearestName.find(key, in: known).map { "; did you mean \"\($0)\"?" } ?? ""
    return error("is no key of a job\(nearest)", path + [key])
  }

  func error(_ message: String, _ path: [String]) -> JobFileError {
    JobFileError(message, line: line(path), key: path.isEmpty ? nil : Self.spelled(path))
  }

  /// Returns a handler's error, whose key is relative to the job, with its place in the file.
  func placed(_ error: JobFileError, under path: [String]) -> JobFileError {
    let parts = error.key.map { $0.split(separator: ".").map(String.init) } ?? []
    let full = path + parts
    return JobFileError(error.message, line: line(full), key: full.isEmpty ? nil : Self.spelled(full))
  }

  /// The line of the nearest place on a path that has one.
  private func line(_ path: [String]) -> Int? {
    var path = path
    while !path.isEmpty {
      if let line = document.line(of: path) { return line }
      path.removeLast()
    }
    return document.value.object == nil ? nil : 1
  }

  private static func spelled(_ path: [String]) -> String {
    path.reduce(into: "") { text, part in
      if Int(part) != nil { text += "[\(part)]" } else { text += text.isEmpty ? part : ".\(part)" }
    }
  }
}

extension JobFileReader {
  /// The bytes of a local name, which becomes a part of an ID.
  private static let localLimit = 100
  private static let keys = [
    "type", "id", "queue", "priority", "notBefore", "delay", "timeout", "maxAttempts", "backoff", "after", "afterAny",
    "batch", "unique", "limit", "place", "traceparent", "tracestate", "replace", "arguments",
  ]

  /// Reads one job.
  ///
  /// - Parameter now: the moment from which its delay counts.
  func job(_ value: JSONValue, _ path: [String], at now: Date) throws(JobFileError) -> JobSpecification {
    guard let object = value.object else { throw error("a job is an object, not \(value.kindName)", path) }
    for key in object.keys where !Self.keys.contains(key) { throw unknown(key, path, among: Self.keys) }
    guard let typeValue = object["type"] else { throw error("is missing", path + ["type"]) }
    var job = JobSpecification(type: try text(typeValue, path + ["type"], limit: 100))
    if let id = object["id"] {
      job.id = try text(id, path + ["id"], limit: 200)
      if let id = job.id, JobSpecification.isLocal(id), id.utf8.count > Self.localLimit {
        throw error("begins with #, and is longer than \(Self.localLimit) bytes", path + ["id"])
      }
      if id.string == "#" { throw error("is a # without a name behind it", path + ["id"]) }
    }
    if let queue = object["queue"] { job.queue = try text(queue, path + ["queue"], limit: 100) }
    if let priority = object["priority"] {
      job.priority = try integer(priority, path + ["priority"], in: -100...100)
    }
    if let attempts = object["maxAttempts"] {
      job.maxAttempts = try integer(attempts, path + ["maxAttempts"], in: 1...1_000)
    }
    if let moment = object["notBefore"] { job.notBefore = try self.moment(moment, path + ["notBefore"]) }
    if let delay = object["delay"] {
      if job.notBefore != nil { throw error("can't stand beside \"notBefore\"", path + ["delay"]) }
      job.notBefore = now + (try duration(delay, path + ["delay"]) / .seconds(1))
    }
    if let batch = object["batch"] { job.batch = try text(batch, path + ["batch"], limit: 200) }
    if let arguments = object["arguments"] {
      guard arguments.object != nil else {
        throw error("must be an object, not \(arguments.kindName)", path + ["arguments"])
      }
      job.arguments = arguments
    }
    if let replace = object["replace"] {
      guard let replaces = replace.bool else {
        throw error("must be true or false, not \(replace.kindName)", path + ["replace"])
      }
      if replaces && job.isNamedAfterFile {
        throw error("replaces the job of a known ID, so that an \"id\" has to say which", path + ["replace"])
      }
      job.replaces = replaces
    }
    try readOptions(object, path, into: &job)
    try checkReferences(of: job, path)
    return job
  }

  /// Reads the rare keys, which ``JobSpecification/options`` writes.
  func readOptions(
    _ object: JSONObject, _ path: [String], into job: inout JobSpecification
  ) throws(JobFileError) {
    if let timeout = object["timeout"] { job.timeout = try duration(timeout, path + ["timeout"]) }
    if let backoff = object["backoff"] { job.backoff = try self.backoff(backoff, path + ["backoff"]) }
    if let after = object["after"] { job.after = try ids(after, path + ["after"]) }
    if let afterAny = object["afterAny"] { job.afterAny = try ids(afterAny, path + ["afterAny"]) }
    if let batch = object["afterBatch"] { job.afterBatch = try text(batch, path + ["afterBatch"], limit: 200) }
    if let unique = object["unique"] { job.unique = try text(unique, path + ["unique"], limit: 200) }
    if let limit = object["limit"] { job.limit = try self.limit(limit, path + ["limit"]) }
    if let place = object["place"] { job.place = try text(place, path + ["place"], limit: 400) }
    job.trace = try trace(object, path)
    // These are keys of records only.
    if let identity = object["madeOf"] { job.madeOf = try text(identity, path + ["madeOf"], limit: 200) }
    if let files = object["replacements"] { job.replacements = try ids(files, path + ["replacements"]) }
    job.earlierAttempts = object["earlierAttempts"]?.integer.flatMap { Int(exactly: $0) } ?? 0
  }

  /// The keys `traceparent` and `tracestate`.
  private func trace(_ object: JSONObject, _ path: [String]) throws(JobFileError) -> TraceContext? {
    guard let parent = object["traceparent"] else {
      if object["tracestate"] == nil { return nil }
      throw error("can't stand without \"traceparent\"", path + ["tracestate"])
    }
    guard let trace = TraceContext(parent: try text(parent, path + ["traceparent"], limit: 200)) else {
      throw error(
        "must be a traceparent of the W3C, such as \"\(TraceContext.example)\", in lower case and without zeros only",
        path + ["traceparent"])
    }
    guard let state = object["tracestate"] else { return trace }
    let text = try text(state, path + ["tracestate"], limit: 512)
    guard TraceContext.isState(text) else {
      throw error("must be a tracestate of the W3C, such as \"vendor=value,other=1\"", path + ["tracestate"])
    }
    return TraceContext(parent: trace.parent, state: text)
  }

  /// A word, or an object with the word as `kind`.
  private func backoff(_ value: JSONValue, _ path: [String]) throws(JobFileError) -> Backoff {
    guard let object = value.object else { return Backoff(try growth(value, path)) }
    let keys = ["kind", "base", "limit", "jitter"]
    for key in object.keys where !keys.contains(key) { throw unknown(key, path, among: keys) }
    var backoff = Backoff()
    if let kind = object["kind"] { backoff.growth = try growth(kind, path + ["kind"]) }
    if let base = object["base"] { backoff.base = try duration(base, path + ["base"]) }
    if let limit = object["limit"] { backoff.limit = try duration(limit, path + ["limit"]) }
    if let jitter = object["jitter"] {
      guard let share = jitter.number, (0...1).contains(share) else {
        throw error("must be a number from 0 to 1", path + ["jitter"])
      }
      backoff.jitter = share
    }
    return backoff
  }

  private func growth(_ value: JSONValue, _ path: [String]) throws(JobFileError) -> Backoff.Growth {
    guard let growth = value.string.flatMap(Backoff.Growth.init) else {
      let known = Backoff.Growth.allCases.map(\.rawValue).joined(separator: ", ")
      throw error("must be one of \(known), or an object with kind, base, limit and jitter", path)
    }
    return growth
  }

  private func limit(_ value: JSONValue, _ path: [String]) throws(JobFileError) -> JobLimit {
    guard let object = value.object else {
      throw error("must be an object with key, concurrent and rate, not \(value.kindName)", path)
    }
    let keys = ["key", "concurrent", "rate"]
    for key in object.keys where !keys.contains(key) { throw unknown(key, path, among: keys) }
    guard let key = object["key"] else { throw error("is missing", path + ["key"]) }
    var limit = JobLimit(key: try text(key, path + ["key"], limit: 200))
    if let concurrent = object["concurrent"] {
      limit.concurrent = try integer(concurrent, path + ["concurrent"], in: 1...100_000)
    }
    if let rate = object["rate"] { limit.rate = try self.rate(rate, path + ["rate"]) }
    if limit.concurrent == nil && limit.rate == nil { throw error("needs concurrent, rate or both", path) }
    return limit
  }

  /// A text such as `10/s` or `100/15min`.
  private func rate(_ value: JSONValue, _ path: [String]) throws(JobFileError) -> JobLimit.Rate {
    guard let rate = value.string.flatMap(JobLimit.Rate.init(text:)) else {
      throw error("must be a number and a time span, such as \"10/s\" or \"100/15min\"", path)
    }
    return rate
  }
}

/// An error in a job file: the line, the key, and what to do.
public struct JobFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line in the file, from 1, where there is one.
  public var line: Int?
  /// The path of the key, as `jobs[3].arguments.input`.
  public var key: String?
  /// The message: what is wrong and what is expected instead.
  public var message: String

  /// An error in a job file.
  public init(_ message: String, line: Int? = nil, key: String? = nil) {
    self.message = message
    self.line = line
    self.key = key
  }

  /// The line, the key and the message.
  public var description: String {
    (line.map { "line \($0): " } ?? "") + (key.map { "\"\($0)\": " } ?? "") + message
  }
}
