package import Foundation
import JSONText
import Synchronization

/// The jobs of a file with one job on each line, checked line by line: each by itself, and against those before it.
///
/// It keeps a hash of each ID, and nothing else of the lines that it has read.
package struct JobLines {
  /// The number of jobs so far.
  package private(set) var count = 0
  private let ids: LineIDs

  /// - Parameter ids: receives the IDs.
  package init(_ ids: LineIDs) { self.ids = ids }

  /// Reads the job on the next line.
  ///
  /// - Parameters:
  ///   - line: the line's number, from 1.
  ///   - now: the moment from which delays count.
  ///   - check: checks the job's type and arguments.
  /// - Returns: nil for a blank line.
  /// - Throws: ``JobFileError`` that names line and key; the lines behind it can still be read.
  package mutating func next(
    _ text: ArraySlice<UInt8>, line: Int, at now: Date, check: (JobSpecification) throws(JobFileError) -> Void
  ) throws(JobFileError) -> JobSpecification? {
    guard let job = try Self.job(text, line: line, at: now) else { return nil }
    count += 1
    do throws(JobFileError) {
      try ids.add(job)
      try check(job)
    } catch {
      throw JobFileError(error.message, line: line, key: error.key)
    }
    return job
  }

  /// Reads the job on a line that was checked before.
  ///
  /// - Returns: nil for a blank line.
  package static func job(
    _ text: ArraySlice<UInt8>, line: Int, at now: Date
  ) throws(JobFileError) -> JobSpecification? {
    if text.allSatisfy({ $0 == 0x20 || $0 == 0x0d || $0 == 0x09 }) { return nil }
    let document: JSONDocument
    do throws(JSONError) { document = try JSONDocument(parsing: text, dialect: .json5) } catch {
      throw JobFileError(error.message, line: line)
    }
    if document.value.object?["jobs"] != nil {
      throw JobFileError("is a list of jobs; in this file each line is one job", line: line, key: "jobs")
    }
    do throws(JobFileError) {
      let job = try JobFileReader(document: document).job(document.value, [], at: now)
      if job.replaces { throw JobFileError("is not for files with one job on each line", key: "replace") }
      return job
    } catch {
      throw JobFileError(error.message, line: line, key: error.key)
    }
  }
}

/// The IDs in a file with one job on each line, as hashes: 8 bytes each.
///
/// Seeded by chance in each process, so that nobody can choose two IDs with the same one.
package final class LineIDs: Sendable {
  fileprivate struct State {
    var present: Set<Int> = []
    /// Those that lines wait for and no line before them has.
    var awaited: Set<Int> = []
  }

  private let state = Mutex(State())

  package init() {}

  package func contains(_ id: String) -> Bool { state.withLock { $0.present.contains(id.hashValue) } }

  /// Adds the IDs that a job has and names.
  ///
  /// - Throws: if its ID occurs twice, or it does not wait for earlier lines only: then no circle is possible.
  fileprivate func add(_ job: JobSpecification) throws(JobFileError) {
    let problem = state.withLock { state in state.add(job) }
    if let problem { throw problem }
  }
}

extension LineIDs.State {
  fileprivate mutating func add(_ job: JobSpecification) -> JobFileError? {
    for (key, names) in [("after", job.after), ("afterAny", job.afterAny)] {
      for name in names where !present.contains(name.hashValue) {
        if JobSpecification.isLocal(name) || name == job.id {
          return JobFileError("no line before this one has the ID \"\(name)\"", key: key)
        }
        awaited.insert(name.hashValue)
      }
    }
    guard let id = job.id else { return nil }
    if !present.insert(id.hashValue).inserted {
      return JobFileError("the ID \"\(id)\" occurs twice in the file", key: "id")
    }
    if awaited.contains(id.hashValue) {
      return JobFileError(
        "a line before this one waits for \"\(id)\"; jobs wait for those on lines before theirs", key: "id")
    }
    return nil
  }
}
