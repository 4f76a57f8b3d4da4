import Foundation
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// A job that is accepted and not released yet: what the daemon knows of it beyond its object.
final class LiveJob: Sendable {
  let id: String
  let objectID: ManagedObjectID
  let specification: JobSpecification
  let maxAttempts: Int
  /// Its share of the file's bytes.
  let byteCount: Int
  /// The file that the job came in; it is released when all its jobs are.
  let file: LiveFile
  /// Tells the order of arrival.
  let sequence: UInt64

  private struct State {
    var state = JobState.available
    var attempt: Int
    var execution: JobExecution?
    var failure: String?
  }

  private let state: Mutex<State>

  init(
    id: String, objectID: ManagedObjectID, specification: JobSpecification, maxAttempts: Int, attempt: Int,
    byteCount: Int, file: LiveFile, sequence: UInt64
  ) {
    self.id = id
    self.objectID = objectID
    self.specification = specification
    self.maxAttempts = maxAttempts
    self.byteCount = byteCount
    self.file = file
    self.sequence = sequence
    state = Mutex(State(attempt: attempt))
  }

  var currentState: JobState { state.withLock { $0.state } }
  var attempt: Int { state.withLock { $0.attempt } }
  var progress: JobProgress? { state.withLock { $0.execution?.progress } }
  var failure: String? { state.withLock { $0.failure } }

  /// Counts an attempt; returns its number.
  func beginAttempt() -> Int {
    state.withLock { state in
      state.state = .running
      state.attempt += 1
      return state.attempt
    }
  }

  func show(_ execution: JobExecution) { state.withLock { $0.execution = execution } }

  /// Ends an attempt.
  func end(_ newState: JobState, failure: String? = nil) {
    state.withLock { state in
      state.state = newState
      state.execution = nil
      state.failure = failure
    }
  }
}

/// A job file at work.
final class LiveFile: Sendable {
  let name: FileName
  let submitter: UInt32
  private let unfinished: Mutex<(count: Int, failures: [(sequence: UInt64, text: String)])>

  init(name: FileName, submitter: UInt32, jobCount: Int) {
    self.name = name
    self.submitter = submitter
    unfinished = Mutex((jobCount, []))
  }

  /// Notes that one of its jobs is durable; returns the failures of all of them, in the jobs' order, if it was the last.
  func finishJob(_ sequence: UInt64, failure: String?) -> [String]? {
    unfinished.withLock { state in
      state.count -= 1
      if let failure { state.failures.append((sequence, failure)) }
      return state.count == 0 ? state.failures.sorted { $0.sequence < $1.sequence }.map(\.text) : nil
    }
  }
}
