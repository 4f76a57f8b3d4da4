import ControlClient
import Dispatch
import Foundation
import Synchronization

/// Sends job files on threads of its own: one after the other, or many at a time if it waits for each.
///
/// The daemon answers a waiting request when its jobs are finished, so nothing is polled. Each request ends after the
/// client's timeout at the latest, and with it every wait here.
final class Submission: Sendable {
  enum Outcome {
    case replied(Reply)
    case failed(ToolError)
    /// Not tried, since the daemon didn't answer for an earlier file.
    case skipped
  }

  private struct State {
    var next = 0
    var finished: [(index: Int, outcome: Outcome)] = []
    var isAbandoned = false
  }

  /// The daemon keeps a limited number of connections of one user; some are left for other commands.
  static let mostWaiting = 32

  private let files: [String]
  private let client: ControlClient
  private let deadline: ContinuousClock.Instant?
  private let state = Mutex(State())
  private let isFinished = DispatchSemaphore(value: 0)

  /// - Parameter wait: How long to wait for the jobs of all files together; nil doesn't.
  init(files: [String], client: ControlClient, wait: Duration?) {
    self.files = files
    self.client = client
    deadline = wait.map { .now + $0 }
  }

  func start() {
    for _ in 0..<(deadline == nil ? 1 : min(files.count, Self.mostWaiting)) {
      Thread.detachNewThread { self.work() }
    }
  }

  /// Waits for the next file to be finished; to be called once for each.
  ///
  /// - Parameter look: Called every second meanwhile, to update a terminal; nil without one.
  func nextFinished(meanwhile look: (() -> Void)?) -> (index: Int, outcome: Outcome) {
    if let look {
      while isFinished.wait(timeout: .now() + .seconds(1)) == .timedOut { look() }
    } else {
      isFinished.wait()
    }
    return state.withLock { $0.finished.removeFirst() }
  }

  private func work() {
    while let (index, isAbandoned) = takeNext() {
      let outcome = isAbandoned ? .skipped : submit(files[index])
      state.withLock { state in
        if case .failed(let error) = outcome, error.code == .unavailable { state.isAbandoned = true }
        state.finished.append((index, outcome))
      }
      isFinished.signal()
    }
  }

  private func takeNext() -> (index: Int, isAbandoned: Bool)? {
    state.withLock { state in
      guard state.next < files.count else { return nil }
      defer { state.next += 1 }
      return (state.next, state.isAbandoned)
    }
  }

  private func submit(_ file: String) -> Outcome {
    do throws(ToolError) {
      let body = try JobFileInput.read(file)
      // Whole seconds, rounded up; when the time is over, the file is still submitted.
      let rest = deadline.map { max(0, Int((ContinuousClock.now.duration(to: $0) / .seconds(1)).rounded(.up))) }
      let query = rest.map { [URLQueryItem(name: "wait", value: String($0))] } ?? []
      return .replied(
        try Reply.received(
          from: client, "POST", ControlClient.path("v1", "jobs"), query: query, body: body,
          timeout: .seconds(30 + (rest ?? 0))))
    } catch {
      return .failed(error)
    }
  }
}
