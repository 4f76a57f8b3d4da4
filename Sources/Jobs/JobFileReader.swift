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
  }

  private static let fileKeys = ["jobs", "batch", "callback"]

  func contents() throws(JobFileError) -> Contents {
    guard let object = document.value.object else {
      throw JobFileError("a job file holds one object, not \(document.value.kindName)", line: 1)
    }
    guard let list = object["jobs"] else { return Contents(jobs: [([], document.value)]) }
    for key in object.keys where !Self.fileKeys.contains(key) { throw unknown(key, [], among: Self.fileKeys) }
    guard let array = list.array else { throw error("must be a list of jobs, not \(list.kindName)", ["jobs"]) }
    if array.isEmpty { throw error("is empty", ["jobs"]) }
    if array.count > JobFile.jobLimit {
      throw error("has \(array.count) jobs; a file may hold \(JobFile.jobLimit)", ["jobs"])
    }
    var contents = Contents(jobs: array.enumerated().map { (["jobs", String($0.offset)], $0.element) })
    if let batch = object["batch"] { contents.batch = try text(batch, ["batch"], limit: 200) }
    if let callback = object["callback"] {
      contents.jobs.append((["callback"], callback))
      contents.hasCallback = true
    }
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
      throw error("must be a time span of at most 10 years, such as \"250ms\", \"30s\", \"2m\" or \"1h 30min\"", path)
    }
    return duration
  }

  private static let longest = Duration.seconds(10 * 366 * 86_400)

  /// A moment by ISO 8601, with its distance from UTC.
  func moment(_ value: JSONValue, _ path: [String]) throws(JobFileError) -> Date {
    let text = value.string ?? ""
    for hasFraction in [false, true] {
      // Neither form reads the other's texts; a text that neither reads is reported below.
      let style = Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)
      if let date = try? style.parse(text) { return date }
    }
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
