import Dispatch
import Synchronization
import SystemSupport

/// Moves refused files from `cur/` to `failed/`, and keeps trying where that fails: nothing else waits for it.
final class Refuser: Sendable {
  /// The number of files that may wait for `failed/`; more of them stay in `cur/` until the next start.
  private static let limit = 10_000
  private static let longestDelay = 60

  private struct Waiting {
    let name: FileName
    let reasons: [String]
    let completion: @Sendable () -> Void
  }

  private struct State {
    var waiting: [Waiting] = []
    /// Seconds until the next attempt.
    var delay = 1
    var isArmed = false
  }

  private let spool: Spool
  private let failedFiles: FailedFiles
  private let log: DaemonLog
  private let queue = DispatchQueue(label: "refusals")
  private let state = Mutex(State())

  init(spool: Spool, failedFiles: FailedFiles, log: DaemonLog) {
    self.spool = spool
    self.failedFiles = failedFiles
    self.log = log
  }

  /// Moves a file from `cur/` now, or later if that fails; `completion` is called when its name there is free.
  func refuse(_ name: FileName, _ reasons: [String], completion: @escaping @Sendable () -> Void = {}) {
    do throws(SystemError) {
      try spool.refuse(name, in: spool.current, reasons: reasons)
      failedFiles.note()
      completion()
    } catch {
      wait(Waiting(name: name, reasons: reasons, completion: completion), error)
    }
  }

  private func wait(_ file: Waiting, _ error: SystemError) {
    let isFirst: Bool? = state.withLock { state in
      guard state.waiting.count < Self.limit else { return nil }
      state.waiting.append(file)
      return state.waiting.count == 1
    }
    if isFirst == true {
      log.error("failed/ can't take the job file \(file.name), which stays in cur/ until it can: \(error)")
    } else if isFirst == nil {
      log.error("failed/ can't take the job file \(file.name), which stays in cur/ until the next start: \(error)")
    }
    arm()
  }

  private func arm() {
    let delay: Int? = state.withLock { state in
      if state.isArmed || state.waiting.isEmpty { return nil }
      state.isArmed = true
      defer { state.delay = min(state.delay * 2, Self.longestDelay) }
      return state.delay
    }
    if let delay { queue.asyncAfter(deadline: .now() + .seconds(delay)) { [weak self] in self?.retry() } }
  }

  private func retry() {
    let waiting = state.withLock { state in
      state.isArmed = false
      defer { state.waiting = [] }
      return state.waiting
    }
    var rest = waiting[...]
    do throws(SystemError) {
      // Another folder may have been put in its place.
      try spool.reopenFailed()
      while let file = rest.first {
        try spool.refuse(file.name, in: spool.current, reasons: file.reasons)
        rest.removeFirst()
        failedFiles.note()
        file.completion()
      }
      state.withLock { $0.delay = 1 }
      log.notice("failed/ takes files again")
    } catch {
      // The first that fails is enough to know.
      state.withLock { $0.waiting.insert(contentsOf: rest, at: 0) }
      arm()
    }
  }
}
