import Configuration
import Dispatch
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Admits files with one job on each line, of any length, in bounded memory: as a whole or not at all.
///
/// A file is read twice. First all its lines are checked and copied; one bad line, and the file is refused. Then the copy's
/// jobs are admitted part by part, and start when all of them are on disk. What a crash leaves is gone on with.
/// Documentation/Design/0049 says why.
final class LineFileAdmission: Sendable {
  /// The most jobs of a file.
  private static let jobLimit = 1_000_000
  /// The jobs after which what was admitted goes to disk, so that the writer does not hold them all.
  private static let flushedJobs = 2_000

  private struct State {
    var orders: [Order] = []
    var isWorking = false
    var isStopped = false
    /// The files of an earlier run that are not admitted yet.
    var takenUp = 0
    /// The waits for the end of the work.
    var ends: [CheckedContinuation<Void, Never>] = []
    /// The wait of a file, before it is begun, for other jobs to end.
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let spool: Spool
  private let admission: Admission
  private let scheduler: Scheduler
  private let merger: Merger
  private let flusher: Flusher
  private let refuser: Refuser
  private let log: DaemonLog
  private let events: DaemonEvents
  /// The intake's queue, where all files are admitted.
  private let queue: DispatchQueue
  private let state = Mutex(State())
  private let lineLimit: Mutex<Int>
  /// Its own, since reading a file may wait for the disk.
  private let executor = WorkQueues(label: "lines", count: 1)

  /// - Parameter queue: the intake's queue.
  init(
    spool: Spool, admission: Admission, scheduler: Scheduler, merger: Merger, flusher: Flusher, refuser: Refuser,
    log: DaemonLog, configuration: Configuration.Spool, events: DaemonEvents, queue: DispatchQueue
  ) {
    self.spool = spool
    self.admission = admission
    self.scheduler = scheduler
    self.merger = merger
    self.flusher = flusher
    self.refuser = refuser
    self.log = log
    (self.events, self.queue) = (events, queue)
    lineLimit = Mutex(configuration.maxJobFileSize)
  }

  func reconfigure(_ configuration: Configuration.Spool) { lineLimit.withLock { $0 = configuration.maxJobFileSize } }
  /// True if no file of an earlier run is still to be admitted.
  var hasAdmittedAll: Bool { state.withLock { $0.takenUp == 0 } }

  /// Admits no further part.
  func stop() {
    state.withLock { $0.isStopped = true }
    noteReleased()
  }

  /// Waits until nothing is admitted any more, which is soon after a stop: another daemon may go on in the same spool.
  func finish() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.isWorking { state.ends.append(continuation) }
        return !state.isWorking
      }
      if isOver { continuation.resume() }
    }
  }

  /// Notes that jobs have left the schedule.
  func noteReleased() {
    let waiting = state.withLock { state in
      if !state.isStopped && scheduler.isFull { return nil as CheckedContinuation<Void, Never>? }
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume()
  }

  /// Keeps the IDs of the file whose admission was cut short from others, until it is gone on with.
  func reserve() throws {
    guard var copy = try spool.openCopy() else { return }
    let ids = LineIDs()
    var (lines, number) = (JobLines(ids), 0)
    while let line = try copy.lines.next() {
      number += 1
      guard case .text(let text) = line else { continue }
      do throws(JobFileError) { _ = try lines.next(text, line: number, at: copy.accepted) { _ in } } catch {
        // Found out again when its turn comes, and told then.
        continue
      }
    }
    admission.reserve(ReservedIDs(file: copy.file.name, ids: ids))
  }

  /// Admits a file in `cur/`, after those before it.
  func add(_ order: Order) {
    let mustStart = state.withLock { state in
      state.orders.append(order)
      if order.isTakenUp { state.takenUp += 1 }
      defer { state.isWorking = true }
      return !state.isWorking
    }
    if mustStart { Task(executorPreference: executor, priority: .medium) { await self.work() } }
  }

  private func work() async {
    while true {
      let (orders, ends) = state.withLock { state in
        defer { state.orders = [] }
        if !state.orders.isEmpty { return (state.orders, [] as [CheckedContinuation<Void, Never>]) }
        defer { state.ends = [] }
        state.isWorking = false
        return ([], state.ends)
      }
      for end in ends { end.resume() }
      if orders.isEmpty { return }
      for order in orders {
        // Others are here already, and may have to be released.
        if !order.isTakenUp { await waitForRoom() }
        await carryOut(order)
      }
    }
  }

  /// Waits while there are as many jobs as may be at a time.
  private func waitForRoom() async {
    await withCheckedContinuation { continuation in
      let mustWait = state.withLock { state in
        if state.isStopped || !scheduler.isFull { return false }
        state.waiting = continuation
        return true
      }
      if !mustWait { continuation.resume() }
    }
  }

  private func carryOut(_ order: Order) async {
    do {
      if state.withLock(\.isStopped) { throw Stopped() }
      let admitted = try await admit(order)
      order.client?.answer(.success(admitted))
      if admitted.hasCopy { await removeCopy(of: order.file.name, admitted) }
    } catch { end(order, error) }
    admission.reserve(nil)
    do { try spool.removeDraft() } catch {
      log.error("a copy of \(order.file.name) stays until the next start: \(error)")
    }
    if !order.isTakenUp { return }
    let isLast = state.withLock { state in
      state.takenUp -= 1
      return state.takenUp == 0
    }
    // The ends of a fleet's jobs waited for the files of these.
    if isLast { events.send(.outcomesKnown) }
  }

  /// Removes the copy once the admission is whole: a failover may take back some of several transactions, and not all, which the
  /// copy has the next start find out.
  private func removeCopy(of name: FileName, _ admitted: AdmittedLines) async {
    if admitted.transactionCount > 1, await !admission.waitUntilFollowed() { return }
    do { try spool.removeCopy() } catch { log.error("a copy of \(name) stays until the next start: \(error)") }
  }

  private func end(_ order: Order, _ error: any Error) {
    let name = order.file.name
    switch error {
    case let refusal as LineFileRefusal:
      if order.client == nil { refuser.refuse(name, because: refusal.reasons) } else { release(name) }
    case let refusal as SpoolQuota.Refusal where order.client == nil: refuser.refuse(name, because: refusal.reason)
    case is Stopped, is SpoolQuota.Refusal: break
    case let error as StoreError: events.send(.fatal(.storeFailure("\(error)")))
    default: log.error("the job file \(name) can't be admitted before the next start: \(error)")
    }
    guard let client = order.client else { return }
    let isKept = !(error is LineFileRefusal) && !releaseIfUntouched(order)
    client.answer(.failure(isKept ? Stopped(isKept: true) : error))
  }

  /// Removes the file of a client who is told that it was not accepted, unless some of its jobs are admitted already.
  ///
  /// - Returns: false if the next start goes on with it.
  private func releaseIfUntouched(_ order: Order) -> Bool {
    do {
      if try spool.openCopy()?.file.name == order.file.name { return false }
      release(order.file.name)
      return true
    } catch {
      log.error("the job file \(order.file.name) may be admitted at the next start: \(error)")
      return false
    }
  }

  /// Removes a file: one that its client is told was refused must not run at the next start.
  private func release(_ name: FileName) {
    do { try spool.release(name) } catch {
      log.error("the refused job file \(name) can't be removed from cur/, and would run at the next start: \(error)")
    }
  }

  private func admit(_ order: Order) async throws -> AdmittedLines {
    if let copy = try spool.openCopy() {
      // That of another file is of an admission that has failed: it says which jobs must not start, and is to stay.
      guard copy.file.name == order.file.name else {
        log.error(
          "the job file \(order.file.name) waits for the next start, which goes on with the admission of \(copy.file.name), that "
            + "has failed before it")
        throw Stopped()
      }
      if copy.file.identity == order.file.identity { return try await admit(copy, order) }
      // An earlier file of that name was over before its copy was removed.
      try spool.removeCopy()
    }
    let survey = LineFileSurvey(
      spool: spool, admission: admission, lineLimit: lineLimit.withLock { $0 }, jobLimit: Self.jobLimit)
    switch try await retrying(order, { try survey.run(order) { try onIntakeQueue($0) } }) {
    case .over(let failures):
      events.send(.admitted([AdmittedFile(of: order, failures: failures)]))
      return AdmittedLines(keepsAll: false)
    case .unfinished:
      let lines = LineReader(try spool.current.openFile(order.file.name), limit: Spool.longestLine)
      return try await admit(lines, of: order.file, accepted: admission.now, order, wasAdmitted: true)
    case .new:
      guard let copy = try spool.openCopy() else {
        throw SystemError(.noEntry, call: "openat", subject: "the copy of \(order.file.name)")
      }
      return try await admit(copy, order)
    }
  }

  private func admit(_ copy: consuming LineFileCopy, _ order: Order) async throws -> AdmittedLines {
    let (file, accepted) = (copy.file, copy.accepted)
    return try await admit(copy.lines, of: file, accepted: accepted, order)
  }

  // MARK: The second reading

  /// Admits the jobs on lines that were checked, part by part, and lets them start when all of them are on disk.
  ///
  /// - Parameters:
  ///   - file: the file, with what its jobs' IDs are made of.
  ///   - wasAdmitted: true if all its jobs were admitted before: those that are not known were removed since.
  private func admit(
    _ lines: consuming LineReader, of file: ClaimedFile, accepted: Date, _ order: Order, wasAdmitted: Bool = false
  ) async throws -> AdmittedLines {
    let live =
      order.live
      ?? LiveFile(name: file.name, jobCount: 0, isOfEarlierRun: order.isTakenUp, isBeingAdmitted: true)
    var admitted = AdmittedLines(keepsAll: order.client?.needsAll == true)
    var part = LinePart()
    var (number, unflushed) = (0, 0)
    while let line = try lines.next() {
      number += 1
      guard case .text(let text) = line else { continue }
      // A later release may find faults with a line in which this one found none.
      do throws(JobFileError) {
        if let job = try JobLines.job(text, line: number, at: accepted) {
          part.add(job, line: number, bytes: text.count)
        }
      } catch {
        live.note(failure: error.description)
        admitted.isLive = true
      }
      if !part.isFull { continue }
      unflushed += part.jobs.count
      try await admit(&part, of: file, live: live, order: order, wasAdmitted: wasAdmitted, into: &admitted)
      if unflushed < Self.flushedJobs { continue }
      try await waitUntilDurable()
      unflushed = 0
    }
    try await admit(&part, of: file, live: live, order: order, wasAdmitted: wasAdmitted, into: &admitted)
    try await waitUntilDurable()
    admitted.hasCopy = !wasAdmitted
    scheduler.start(whole: file.name)
    if admitted.isLive || order.live != nil {
      events.send(.allAdmitted(live))
    } else {
      events.send(.admitted([AdmittedFile(of: order, admitted.duplicatesOfLive, failures: admitted.earlierFailures)]))
    }
    tell(of: admitted, order)
    return admitted
  }

  /// Admits a part, and begins the next one.
  private func admit(
    _ part: inout LinePart, of file: ClaimedFile, live: LiveFile, order: Order, wasAdmitted: Bool,
    into admitted: inout AdmittedLines
  ) async throws {
    defer { part = part.next }
    if part.jobs.isEmpty { return }
    await flusher.waitForRoom()
    var candidate = part.candidate(of: file, live)
    candidate.isTakenUp = order.isTakenUp
    candidate.part?.wasAdmitted = wasAdmitted
    let numbers = part.lines
    let files = try await retrying(order) {
      try self.onIntakeQueue { try self.admit(candidate, numbers) }
    }
    for file in files { admitted.add(file) }
    admitted.transactionCount += max(1, files.count)
    // Some of them were refused.
    if files.isEmpty || files.count > 1 { admitted.isLive = true }
  }

  /// Admits the jobs of a part together; or else each by itself, if one of them can't be admitted any more, since a job of
  /// another host has its ID by now.
  private func admit(_ candidate: AdmissionCandidate, _ lines: [Int]) throws -> [AdmittedFile] {
    switch try admission.admit([candidate])[0] {
    case .success(let admitted):
      events.send(.admitted([admitted]))
      return [admitted]
    case .failure(let refusal) where lines.count == 1:
      candidate.live?.note(failure: "line \(lines[0]): \(refusal.reason)")
      return []
    case .failure: return try lines.indices.flatMap { try admit(candidate.job(at: $0), [lines[$0]]) }
    }
  }

  private func tell(of admitted: AdmittedLines, _ order: Order) {
    if order.isTakenUp || order.client != nil { return }
    if admitted.repeatedCount > 0 {
      log.notice(
        "the job file \(order.file.name) repeats \(counted(admitted.repeatedCount, "job")) of its \(admitted.count), and only "
          + "the others are run")
    }
    if let name = admitted.unknown.values.first?.first {
      log.notice(
        "jobs of the file \(order.file.name) wait for jobs that nobody has submitted yet, such as \(displayName(name))")
    }
  }

  // MARK: Waiting

  /// Does something with the intake's state as it is between two admissions.
  private func onIntakeQueue<Result>(_ body: () throws -> Result) throws -> Result {
    try queue.sync {
      if state.withLock(\.isStopped) { throw Stopped() }
      return try body()
    }
  }

  /// Tries something until there is room on the disk, and nobody else keeps the store.
  private func retrying<Result>(
    _ order: Order, _ body: () throws -> Result
  ) async throws -> Result {
    var isTold = false
    while true {
      do { return try body() } catch  where Self.willPass(error) {
        if !isTold { log.error("the job file \(order.file.name) is admitted further when that has passed: \(error)") }
        isTold = true
        // It would take the room that it waits for; the next try begins anew.
        try spool.removeDraft()
        guard await flusher.waitUntilWritable() else { throw Stopped() }
      }
    }
  }

  static func willPass(_ error: any Error) -> Bool {
    if error is UnansweredAdmission { return true }
    if let error = error as? StoreError { return error.isTransient }
    return (error as? SystemError)?.isShortage == true
  }

  private func waitUntilDurable() async throws {
    await merger.mergeAndWait()
    guard await flusher.waitUntilDurable() else { throw Stopped() }
  }
}
