import Configuration
import Dispatch
import Foundation
import Synchronization
import SystemSupport

/// Removes files from `failed/`, each with its reason, when they are too old or too many.
///
/// Of too many, the oldest of the user with the most files go, so that nobody can drive out other users' files.
final class FailedFiles: Sendable {
  private struct State {
    /// Files that came since the last run.
    var unseen = 0
    /// The number of files then.
    var count = 0
  }

  private let spool: Spool
  private let configuration: ConfigurationBox
  private let clock: RetentionClock
  private let log: DaemonLog
  private let runs: Coalescer
  private let timer: OneShotTimer
  private let state = Mutex(State())
  private let didRemove: @Sendable () -> Void

  /// - Parameter didRemove: called when files were removed.
  init(
    _ spool: Spool, _ configuration: ConfigurationBox, clock: RetentionClock, log: DaemonLog,
    didRemove: @escaping @Sendable () -> Void = {}
  ) {
    self.didRemove = didRemove
    self.spool = spool
    self.configuration = configuration
    self.clock = clock
    self.log = log
    let queue = DispatchQueue(label: "failed files")
    runs = Coalescer(queue: queue)
    timer = OneShotTimer(queue: queue)
  }

  /// Counts a file that came to `failed/`, and starts a run if there may be too many.
  func note() {
    let limit = configuration.value.spool.failedCount
    let areMany = state.withLock { state in
      state.unseen += 1
      return state.count + state.unseen > limit + max(limit / 16, 100)
    }
    // Not every file costs a run over all of them; but the timer has to be armed for the first one's age.
    if areMany || !timer.isArmed { runSoon() }
  }

  /// Starts a run, or another one after the one under way.
  func runSoon() { runs.request { self.run() } }

  /// Stops after the run under way.
  func stop() {
    timer.cancel()
    runs.stop()
  }

  private func run() {
    state.withLock { $0.unseen = 0 }
    let settings = configuration.value.spool
    do throws(SystemError) {
      let folder = spool.failed
      var files = try FailedFile.all(in: folder)
      let cutoff = clock.now() - settings.failedAge / .seconds(1)
      let removed = FailedFile.removable(from: &files, limit: settings.failedCount, before: cutoff)
      for file in removed { try file.remove(from: folder) }
      if !removed.isEmpty {
        didRemove()
        log.notice("removed \(removed.count) old files from failed/")
      }
      arm(files.map(\.time).min().map { $0 + settings.failedAge / .seconds(1) }, count: files.count)
    } catch {
      log.error("old files in failed/ can't be removed; the next attempt is when another file comes there: \(error)")
    }
  }

  private func arm(_ due: Date?, count: Int) {
    state.withLock { $0.count = count }
    guard let due else { return timer.disarm() }
    timer.arm(at: clock.deadline(until: due) + .seconds(1)) { [weak self] in self?.runSoon() }
  }
}

/// A file in `failed/` with the reason beside it, or a reason whose file was taken away.
struct FailedFile: Sendable, Equatable {
  let name: FileName
  /// The user whose job file it was.
  let user: UInt32
  /// The time when it came there.
  let time: Date

  /// Lists the files; those without a reason are not the daemon's to remove, nor are folders.
  static func all(in folder: Directory) throws(SystemError) -> [FailedFile] {
    let names = Set(try folder.entries().filter { !$0.isHidden })
    var files: [FailedFile] = []
    // A long name is shortened in that of its reason.
    let reasons = Set(names.lazy.filter { $0.reasonName != $0 }.map(\.reasonName))
    for name in names {
      let isAlone = name.reasonName == name || !names.contains(name.reasonName)
      if isAlone && (reasons.contains(name) || !name.matches("*.reason")) { continue }
      do throws(SystemError) {
        let status = try folder.status(of: name)
        let reason = isAlone ? status : try folder.status(of: name.reasonName)
        if status.kind == .directory { continue }
        files.append(
          FailedFile(
            name: name, user: Submitter.user(ofFailed: name, status),
            time: Date(timeIntervalSince1970: Double(reason.modificationTime) / 1e9)))
      } catch {
        // Its owner has removed it meanwhile.
        if error.code != .noEntry { throw error }
      }
    }
    return files
  }

  /// Removes from `files`, and returns, those that are too old or too many.
  static func removable(from files: inout [FailedFile], limit: Int, before cutoff: Date) -> [FailedFile] {
    var removed = files.filter { $0.time < cutoff }
    var byUser = Dictionary(grouping: files.filter { $0.time >= cutoff }, by: \.user)
      .mapValues { $0.sorted { $0.time > $1.time } }
    var count = files.count - removed.count
    while count > limit, let most = byUser.max(by: { $0.value.count < $1.value.count })?.key,
      let oldest = byUser[most]?.popLast()
    {
      removed.append(oldest)
      count -= 1
    }
    files = byUser.values.flatMap { $0 }
    return removed
  }

  /// Removes it before its reason, so that nobody finds it without one.
  func remove(from folder: Directory) throws(SystemError) {
    for name in [name, name.reasonName] {
      do throws(SystemError) { try folder.unlink(name) } catch {
        if error.code != .noEntry { throw error }
      }
    }
  }
}

/// Moves refused files from `cur/` to `failed/`, and keeps trying where that fails: nothing else waits for it.
final class Refuser: Sendable {
  /// The number of files that may wait for `failed/`; more of them stay in `cur/` until the next start.
  private static let limit = 10_000
  private static let longestDelay: Int64 = 60

  private struct Waiting {
    let name: FileName
    let reasons: [String]
    /// True if its jobs were not admitted; else they have failed.
    let isRefused: Bool
  }

  private struct State {
    var waiting: [Waiting] = []
    /// Seconds until the next attempt.
    var delay: Int64 = 1
    var refusedCount = 0
  }

  private let spool: Spool
  private let failedFiles: FailedFiles
  private let events: DaemonEvents
  private let log: DaemonLog
  private let timer = OneShotTimer(queue: DispatchQueue(label: "refusals"))
  private let state = Mutex(State())

  init(spool: Spool, failedFiles: FailedFiles, events: DaemonEvents, log: DaemonLog) {
    self.spool = spool
    self.failedFiles = failedFiles
    self.events = events
    self.log = log
  }

  /// The number of files that were refused since the start.
  var refusedCount: Int { state.withLock { $0.refusedCount } }

  /// Refuses a file in `cur/`: moves it now, or later if that fails.
  func refuse(_ name: FileName, because reasons: String...) { refuse(name, because: reasons) }

  func refuse(_ name: FileName, because reasons: [String]) {
    move(Waiting(name: name, reasons: reasons, isRefused: true))
  }

  /// Moves a file in `cur/` whose jobs have failed, now, or later if that fails.
  func moveFailed(_ name: FileName, failures: [String]) {
    move(Waiting(name: name, reasons: failures, isRefused: false))
  }

  private func move(_ file: Waiting) {
    do throws(SystemError) {
      try spool.refuse(file.name, in: spool.current, reasons: file.reasons)
      noteMoved(file)
    } catch {
      wait(file, error)
    }
  }

  private func noteMoved(_ file: Waiting) {
    failedFiles.note()
    if file.isRefused {
      state.withLock { $0.refusedCount += 1 }
      // It may quote what a submitter has written.
      let reason = file.reasons.joined(separator: "; ")
      log.warning(
        "the job file \(file.name) was moved to failed/: \(singleLine(reason, limit: 2_000))", as: .fileRefused,
        fields: [("BOBBIN_FILE", "\(file.name)")])
    }
    events.send(.nameFree(file.name))
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
    state.withLock { state in
      if timer.isArmed || state.waiting.isEmpty { return }
      timer.arm(after: .seconds(state.delay)) { [weak self] in self?.retry() }
      state.delay = min(state.delay * 2, Self.longestDelay)
    }
  }

  private func retry() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    // Another alarm has moved them.
    if waiting.isEmpty { return }
    var rest = waiting[...]
    do throws(SystemError) {
      // Another folder may have been put in its place.
      try spool.reopenFailed()
      while let file = rest.first {
        try spool.refuse(file.name, in: spool.current, reasons: file.reasons)
        rest.removeFirst()
        noteMoved(file)
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
