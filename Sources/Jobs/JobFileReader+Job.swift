import JSONText

extension JobFileReader {
  private static let keys = [
    "type", "id", "queue", "priority", "notBefore", "timeout", "maxAttempts", "backoff", "after", "afterAny", "batch",
    "unique", "limit", "arguments",
  ]

  /// Reads one job.
  func job(_ value: JSONValue, _ path: [String]) throws(JobFileError) -> JobSpecification {
    guard let object = value.object else { throw error("a job is an object, not \(value.kindName)", path) }
    for key in object.keys where !Self.keys.contains(key) { throw unknown(key, path, among: Self.keys) }
    guard let typeValue = object["type"] else { throw error("is missing", path + ["type"]) }
    var job = JobSpecification(type: try text(typeValue, path + ["type"], limit: 100))
    if let id = object["id"] { job.id = try text(id, path + ["id"], limit: 200) }
    if let queue = object["queue"] { job.queue = try text(queue, path + ["queue"], limit: 100) }
    if let priority = object["priority"] {
      job.priority = try integer(priority, path + ["priority"], in: -100...100)
    }
    if let attempts = object["maxAttempts"] {
      job.maxAttempts = try integer(attempts, path + ["maxAttempts"], in: 1...1_000)
    }
    if let moment = object["notBefore"] { job.notBefore = try self.moment(moment, path + ["notBefore"]) }
    if let batch = object["batch"] { job.batch = try text(batch, path + ["batch"], limit: 200) }
    if let arguments = object["arguments"] {
      guard arguments.object != nil else {
        throw error("must be an object, not \(arguments.kindName)", path + ["arguments"])
      }
      job.arguments = arguments
    }
    try readOptions(object, path, into: &job)
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
