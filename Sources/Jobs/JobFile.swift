public import Foundation
import JSONText

/// The contents of a job file: one job, or several that are admitted together; the format is in
/// Documentation/JobFile.md.
public struct JobFile: Sendable {
  /// The jobs in the order of the file, at least one; a callback comes last.
  public let jobs: [JobSpecification]
  /// The batch that the file makes of its jobs, if it names it.
  public let batch: String?
  /// True if the last job is to run when all others of the batch are final.
  public let hasCallback: Bool

  /// Some of the jobs of a file with one job on each line.
  package init(lines jobs: [JobSpecification]) {
    self.jobs = jobs
    batch = nil
    hasCallback = false
  }

  /// Reads a job file.
  ///
  /// - Parameters:
  ///   - now: the moment from which delays count.
  ///   - check: checks a job's type and arguments; called for each job.
  /// - Throws: ``JobFileError`` that names line and key.
  public init(
    _ data: Data, at now: Date = Date(),
    check: (JobSpecification) throws(JobFileError) -> Void = { _ throws(JobFileError) in }
  ) throws(JobFileError) {
    if data.allSatisfy({ $0 == 0x20 || $0 == 0x0a || $0 == 0x0d || $0 == 0x09 }) {
      throw JobFileError(data.isEmpty ? "the file is empty" : "the file is blank")
    }
    if let kind = ForeignFile.kind(of: data) { throw JobFileError(ForeignFile.refusal(kind)) }
    let document: JSONDocument
    do throws(JSONError) {
      document = try JSONDocument(parsing: data, dialect: .json5)
    } catch {
      if error.line == 1, ForeignFile.isTable(data) { throw JobFileError(ForeignFile.tableRefusal) }
      throw JobFileError(error.message, line: error.line)
    }
    let reader = JobFileReader(document: document)
    let contents = try reader.contents()
    var jobs: [JobSpecification] = []
    for (path, value) in contents.jobs {
      var job = try reader.job(value, path, at: now)
      job.trace = job.trace ?? contents.trace
      do throws(JobFileError) {
        try check(job)
      } catch {
        throw reader.placed(error, under: path)
      }
      jobs.append(job)
    }
    do throws(JobFileOrderError) { try JobOrder(jobs).check() } catch {
      throw reader.placed(JobFileError(error.message, key: error.key), under: contents.jobs[error.index].path)
    }
    if contents.hasCallback, let callback = jobs.last {
      try reader.check(callback, of: jobs, batch: contents.batch)
      if callback.trace == nil { jobs[jobs.count - 1].trace = jobs.lazy.compactMap(\.trace).first }
    }
    self.jobs = jobs
    batch = contents.batch
    hasCallback = contents.hasCallback
  }
}

/// The order that the jobs of one file ask of each other.
struct JobOrder {
  private let jobs: [JobSpecification]
  private var indexes: [String: Int] = [:]

  init(_ jobs: [JobSpecification]) {
    self.jobs = jobs
    for (index, job) in jobs.enumerated() {
      if let id = job.id { indexes[id] = index }
    }
  }

  /// Checks the order.
  ///
  /// - Throws: if an ID occurs twice, a local name is missing, or jobs wait for each other in a circle.
  func check() throws(JobFileOrderError) {
    for (index, job) in jobs.enumerated() {
      if let id = job.id, indexes[id] != index {
        let last = indexes[id] ?? index
        throw JobFileOrderError(index: last, key: "id", message: "the ID \"\(id)\" occurs twice in the file")
      }
    }
    if jobs.allSatisfy({ $0.after.isEmpty && $0.afterAny.isEmpty }) { return }
    for (index, job) in jobs.enumerated() {
      for (key, names) in [("after", job.after), ("afterAny", job.afterAny)] {
        guard let missing = names.first(where: { JobSpecification.isLocal($0) && indexes[$0] == nil }) else { continue }
        throw JobFileOrderError(
          index: index, key: key,
          message: "no job of this file has the ID \"\(missing)\"; names that begin with # are those of one file")
      }
    }
    var isDone = [Bool](repeating: false, count: jobs.count)
    for start in jobs.indices where !isDone[start] { try walk(from: start, &isDone) }
  }

  /// Follows the jobs that a job waits for, depth first, without recursion: a chain may be as long as the file.
  private func walk(from start: Int, _ isDone: inout [Bool]) throws(JobFileOrderError) {
    var path: [(index: Int, left: [Int])] = [(start, successors(of: start))]
    var isOnPath: Set<Int> = [start]
    while let last = path.indices.last {
      guard let next = path[last].left.popLast() else {
        isDone[path[last].index] = true
        isOnPath.remove(path[last].index)
        path.removeLast()
        continue
      }
      if isDone[next] { continue }
      if isOnPath.contains(next) {
        let circle = path.drop { $0.index != next }.map { jobs[$0.index].id ?? "" } + [jobs[next].id ?? ""]
        throw JobFileOrderError(
          index: next, key: jobs[next].after.isEmpty ? "afterAny" : "after",
          message: "the jobs wait for each other in a circle: \(circle.joined(separator: " after "))")
      }
      path.append((next, successors(of: next)))
      isOnPath.insert(next)
    }
  }

  private func successors(of index: Int) -> [Int] {
    (jobs[index].after + jobs[index].afterAny).compactMap { indexes[$0] }
  }
}

/// An error in one job of a file, and in which of its keys.
struct JobFileOrderError: Error {
  let index: Int
  let key: String
  let message: String
}
