import Configuration
import Dispatch
import Foundation
import Glibc
import ObjectGraph
import Synchronization
import SystemSupport

/// Keeps the copy of the store for other programs: refreshes it on request, and a while after the store has changed.
///
/// Nothing is timed while nothing changes. A copy is made by a thread of its own, of low priority; nobody waits for it, and
/// an error ends neither it nor the daemon.
final class StoreCopier: Sendable {
  /// The state of the copy, for people.
  struct Report: Sendable {
    var path: String
    /// The time when the copy was made; nil if this daemon has made none.
    var made: Date?
    /// The time that took.
    var duration: Duration?
    var size: PublishedCopySize?
    /// True if the store has changed since.
    var isBehind = true
    /// The reason why the last attempt failed; nil if it did not.
    var problem: String?
  }

  /// The reason why there is no copy.
  struct NoCopy: Error, CustomStringConvertible {
    let description: String
    let isConfigured: Bool
  }

  typealias Answer = @Sendable (Result<Report, NoCopy>) -> Void

  private struct State {
    var settings = Configuration().store
    var report = Report(path: "")
    /// When the copy was last begun, by this daemon or by an earlier one.
    var begun: ContinuousClock.Instant?
    var isRunning = false
    var isStopped = false
    /// Those who wait for the copy that is being made, and for the next one.
    var waiting: [Answer] = []
    var waitingForNext: [Answer] = []
    /// Open while no copy is being made.
    var idle = Latch()
  }

  private let coordinator: PersistentStoreCoordinator
  private let log: DaemonLog
  private let problemDidChange: @Sendable () -> Void
  private let timer = OneShotTimer(queue: DispatchQueue(label: "copy of the store"))
  private let state = Mutex(State())

  /// The time for a copy under way to be given up when the daemon ends.
  private static let stopLimit = Duration.seconds(5)

  /// - Parameter problemDidChange: called when an attempt fails, or succeeds again.
  init(
    _ coordinator: PersistentStoreCoordinator, log: DaemonLog, problemDidChange: @escaping @Sendable () -> Void
  ) {
    self.coordinator = coordinator
    self.log = log
    self.problemDidChange = problemDidChange
  }

  /// The state of the copy; nil if there is to be none.
  var report: Report? { state.withLock { $0.settings.copyPath.isEmpty ? nil : $0.report } }

  // MARK: Start and stop

  /// Begins to follow the store.
  func begin(_ settings: Configuration.Store) throws {
    (try coordinator.openStore() as? any CopyableStore)?.observeCommits { [weak self] in self?.noteCommit() }
    reconfigure(settings)
  }

  /// Puts new settings into force; a copy at another place is made soon.
  func reconfigure(_ settings: Configuration.Store) {
    state.withLock { state in
      if state.settings.copyPath != settings.copyPath {
        state.report = Report(path: settings.copyPath)
        state.begun = Self.lastBegin(settings.copyPath)
      } else if state.settings.copyMode != settings.copyMode {
        state.report.isBehind = true
      }
      state.settings = settings
      timer.disarm()
      if state.report.isBehind { arm(&state) }
    }
  }

  /// The moment when the copy that is there was made; nil if there is none, or the clock is behind it.
  private static func lastBegin(_ path: String) -> ContinuousClock.Instant? {
    var status = stat()
    guard !path.isEmpty, stat(path, &status) == 0 else { return nil }
    let age = Date().timeIntervalSince1970 - Double(status.st_mtim.tv_sec)
    return age < 0 ? nil : ContinuousClock.now - .seconds(age)
  }

  /// Makes no further copies, and gives up the one under way.
  func stop() {
    timer.cancel()
    let idle = state.withLock { state in
      state.isStopped = true
      return state.isRunning ? state.idle : nil
    }
    if idle?.wait(for: Self.stopLimit) == false {
      log.error("the copy of the store is given up; the next start of the daemon makes it anew")
    }
  }

  // MARK: Changes and requests

  /// Notes that the store has changed: the first change arms the timer.
  private func noteCommit() {
    state.withLock { state in
      if state.report.isBehind || state.settings.copyPath.isEmpty { return }
      state.report.isBehind = true
      arm(&state)
    }
  }

  /// Arms the timer for the end of the interval since the last copy.
  private func arm(_ state: inout State) {
    let interval = state.settings.copyInterval
    if state.settings.copyPath.isEmpty || interval == .zero || state.isRunning || state.isStopped { return }
    let age = state.begun.map { $0.duration(to: .now) } ?? interval
    timer.arm(after: max(.zero, interval - age)) { [weak self] in self?.refresh { _ in } }
  }

  /// Makes a copy that has everything that is in the store now, unless the one that is there has it.
  ///
  /// - Parameter answer: called once, on another thread or on the caller's.
  func refresh(_ answer: @escaping Answer) {
    enum Step { case answer(Result<Report, NoCopy>), begin, wait }
    let step = state.withLock { state -> Step in
      if state.settings.copyPath.isEmpty {
        return .answer(.failure(NoCopy(description: "no copy of the store is configured", isConfigured: false)))
      }
      if state.isStopped {
        return .answer(.failure(NoCopy(description: "the daemon is stopping", isConfigured: true)))
      }
      if state.isRunning {
        state.waitingForNext.append(answer)
        return .wait
      }
      if !state.report.isBehind, FileManager.default.fileExists(atPath: state.report.path) {
        return .answer(.success(state.report))
      }
      state.waiting.append(answer)
      begin(&state)
      return .begin
    }
    switch step {
    case .answer(let result): answer(result)
    case .begin: start()
    case .wait: break
    }
  }

  // MARK: Copying

  private func begin(_ state: inout State) {
    timer.disarm()
    state.isRunning = true
    state.idle = Latch()
    state.begun = .now
    // What is committed from now on may be missing.
    state.report.isBehind = false
  }

  private func start() {
    // A thread of the pool would keep the priority.
    Thread.detachNewThread { [self] in
      _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
      let settings = state.withLock { $0.settings }
      end(Result { try copy(settings) }, settings)
    }
  }

  private func copy(_ settings: Configuration.Store) throws -> PublishedCopySize {
    let path = settings.copyPath
    guard let store = try coordinator.openStore() as? any CopyableStore else {
      throw StoreError(.unsupported, "this store has no copies")
    }
    let folder = (path as NSString).deletingLastPathComponent
    do throws(SystemError) { try Directory(path: folder).checkWritable() } catch {
      throw NoCopy(description: Sandbox.reason(of: error, keeping: path), isConfigured: true)
    }
    if Sandbox.mayBeOwnFolder(path),
      let reason = Sandbox.ofThisProcess()?.explanation(ofUnseen: path, for: .keeping)
    {
      throw NoCopy(description: reason, isConfigured: true)
    }
    let mode = UInt32(settings.copyMode, radix: 8) ?? 0o640
    return try store.publishCopy(at: path, mode: mode) { () throws(StoreError) in
      if state.withLock(\.isStopped) { throw StoreError(.unavailable, "the daemon is stopping", path: path) }
    }
  }

  private func end(_ result: Result<PublishedCopySize, any Error>, _ settings: Configuration.Store) {
    let (news, answers, report, isAgain) = state.withLock { state in
      let former = state.report.problem
      state.isRunning = false
      switch result {
      case .success(let size):
        state.report.made = Date()
        state.report.size = size
        state.report.duration = state.begun.map { $0.duration(to: .now) }
        state.report.problem = nil
      case .failure(let error):
        state.report.isBehind = true
        state.report.problem = "\(error)"
      }
      // The place may be another one by now.
      if state.settings.copyPath != settings.copyPath { state.report = Report(path: state.settings.copyPath) }
      var answers = state.waiting
      // Without a change since, those who came meanwhile have what they want.
      let isAgain = !state.waitingForNext.isEmpty && state.report.isBehind && !state.isStopped
      if !isAgain { answers += state.waitingForNext }
      state.waiting = isAgain ? state.waitingForNext : []
      state.waitingForNext = []
      state.idle.open()
      if isAgain { begin(&state) } else if state.report.isBehind { arm(&state) }
      return (former != state.report.problem, answers, state.report, isAgain)
    }
    if isAgain { start() }
    if news, !state.withLock(\.isStopped) { tell(report) }
    let outcome: Result<Report, NoCopy> = result.map { _ in report }.mapError {
      NoCopy(description: "\($0)", isConfigured: true)
    }
    for answer in answers { answer(outcome) }
  }

  private func tell(_ report: Report) {
    if let problem = report.problem {
      log.error(
        "the copy of the store for other programs can't be made; the last one stays as it is: \(problem)",
        as: .copyFailed)
    } else {
      log.notice("the copy of the store for other programs is made again")
    }
    problemDidChange()
  }
}
