public import Foundation
import JSONText
import TextSupport

/// What a job file holds: one job, or several that are admitted together; the format is in Documentation/JobFile.md.
public struct JobFile: Sendable {
  /// The jobs in the order of the file; at least one.
  public let jobs: [JobSpecification]
  /// The most jobs that one file may hold.
  public static let jobLimit = 100_000

  /// Reads a job file.
  ///
  /// - Parameter check: tells what is wrong with a job's type or arguments; called for each job.
  /// - Throws: ``JobFileError`` that names line and key.
  public init(
    _ data: Data, check: (JobSpecification) throws(JobFileError) -> Void = { _ throws(JobFileError) in }
  ) throws(JobFileError) {
    if data.allSatisfy({ $0 == 0x20 || $0 == 0x0a || $0 == 0x0d || $0 == 0x09 }) {
      throw JobFileError(data.isEmpty ? "the file is empty" : "the file is blank")
    }
    let document: JSONDocument
    do throws(JSONError) {
      document = try JSONDocument(parsing: data, dialect: .json5)
    } catch {
      throw JobFileError(error.message, line: error.line)
    }
    let reader = JobFileReader(document: document)
    var jobs: [JobSpecification] = []
    for (path, value) in try reader.jobs() {
      let job = try reader.job(value, path)
      do throws(JobFileError) {
        try check(job)
      } catch {
        throw reader.placed(error, under: path)
      }
      jobs.append(job)
    }
    var ids: Set<String> = []
    for (index, job) in jobs.enumerated() {
      if let id = job.id, !ids.insert(id).inserted {
        let error = JobFileError("the ID \"\(id)\" occurs twice in the file", key: "id")
        throw reader.placed(error, under: ["jobs", String(index)])
      }
    }
    self.jobs = jobs
  }
}

/// Reads the parsed text of a job file, and knows on which line a key is.
private struct JobFileReader {
  let document: JSONDocument
  private static let keys = ["type", "id", "queue", "priority", "maxAttempts", "arguments"]
  private static let laterKeys: Set<String> = [
    "notBefore", "timeout", "backoff", "after", "afterAny", "unique", "limit",
  ]

  init(document: JSONDocument) { self.document = document }

  /// The jobs with the paths of their places.
  func jobs() throws(JobFileError) -> [([String], JSONValue)] {
    guard let object = document.value.object else {
      throw JobFileError("a job file holds one object, not \(document.value.kindName)", line: 1)
    }
    guard let list = object["jobs"] else { return [([], document.value)] }
    for key in object.keys where key != "jobs" { throw unknown(key, [], among: ["jobs"]) }
    guard let array = list.array else { throw error("must be a list of jobs, not \(list.kindName)", ["jobs"]) }
    if array.isEmpty { throw error("is empty", ["jobs"]) }
    if array.count > JobFile.jobLimit {
      throw error("has \(array.count) jobs; a file may hold \(JobFile.jobLimit)", ["jobs"])
    }
    return array.enumerated().map { (["jobs", String($0.offset)], $0.element) }
  }

  func job(_ value: JSONValue, _ path: [String]) throws(JobFileError) -> JobSpecification {
    guard let object = value.object else { throw error("a job is an object, not \(value.kindName)", path) }
    for key in object.keys where !Self.keys.contains(key) {
      if Self.laterKeys.contains(key) {
        throw error("is not supported by this version; remove the key", path + [key])
      }
      throw unknown(key, path, among: Self.keys)
    }
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
    if let arguments = object["arguments"] {
      guard arguments.object != nil else {
        throw error("must be an object, not \(arguments.kindName)", path + ["arguments"])
      }
      job.arguments = arguments
    }
    return job
  }

  private func text(_ value: JSONValue, _ path: [String], limit: Int) throws(JobFileError) -> String {
    guard let text = value.string else { throw error("must be a string, not \(value.kindName)", path) }
    if text.isEmpty { throw error("must not be empty", path) }
    if text.utf8.count > limit { throw error("is longer than \(limit) bytes", path) }
    if text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) {
      throw error("must not contain control characters", path)
    }
    return text
  }

  private func integer(_ value: JSONValue, _ path: [String], in range: ClosedRange<Int>) throws(JobFileError) -> Int {
    guard let number = value.integer else { throw error("must be a whole number, not \(value.kindName)", path) }
    guard let integer = Int(exactly: number), range.contains(integer) else {
      throw error("must lie between \(range.lowerBound) and \(range.upperBound), but is \(number)", path)
    }
    return integer
  }

  private func unknown(_ key: String, _ path: [String], among known: [String]) -> JobFileError {
    let nearest = NearestName.find(key, in: known).map { "; did you mean \"\($0)\"?" } ?? ""
    return error("is no key of a job\(nearest)", path + [key])
  }

  private func error(_ message: String, _ path: [String]) -> JobFileError {
    JobFileError(message, line: line(path), key: path.isEmpty ? nil : Self.spelled(path))
  }

  /// A handler's error, whose key is relative to the job, with its place in the file.
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
