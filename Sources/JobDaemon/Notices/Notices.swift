import Configuration
import Dispatch
import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Tells people of events by jobs, as `[Notify NAME]` asks for it.
///
/// A notice is a job of the daemon's own user, which is durable in the spool before the file of the job that it tells of is
/// released; so it comes after a crash, too. Its ID is made of the event, so that it comes once. Jobs of a notifier's
/// type raise no notices, so that a notice that fails raises no other.
final class Notices: Sendable {
  private static let chunkSize = 1_000

  private let configuration: ConfigurationBox
  private let main: ManagedObjectContext
  private let coordinator: PersistentStoreCoordinator
  private let isUnfinished: @Sendable (_ batch: String) -> Bool
  private let submit: @Sendable (Data) throws -> Void
  private let keep: @Sendable (Data) throws -> Void
  private let meter: JobMeter
  private let log: DaemonLog
  private let queue: DispatchQueue
  private let timer: OneShotTimer
  /// By the names of the notifiers.
  private let limiters = Mutex<[String: NoticeLimiter]>([:])
  private let isClosed = Atomic(false)
  /// The store's words when it had no room any more; nil if it has some.
  private let fullStore = Mutex<(error: String, since: Date)?>(nil)

  /// - Parameters:
  ///   - isUnfinished: true if a job of the batch that came to this host has not ended.
  ///   - submit: admits a job file of the daemon's user, durably.
  ///   - keep: keeps such a file for the next start.
  init(
    _ configuration: ConfigurationBox, main: ManagedObjectContext, coordinator: PersistentStoreCoordinator,
    meter: JobMeter, log: DaemonLog, isUnfinished: @escaping @Sendable (_ batch: String) -> Bool,
    submit: @escaping @Sendable (Data) throws -> Void, keep: @escaping @Sendable (Data) throws -> Void
  ) {
    self.configuration = configuration
    self.main = main
    self.coordinator = coordinator
    self.isUnfinished = isUnfinished
    self.meter = meter
    self.log = log
    self.submit = submit
    self.keep = keep
    queue = DispatchQueue(label: "notices")
    timer = OneShotTimer(queue: queue)
  }

  private var notifiers: [String: Configuration.Notifier] { configuration.value.notifiers }

  // MARK: Events

  /// Tells of durable jobs that have failed, and of their batches if these have ended, and then continues.
  ///
  /// Whether a batch has ended is read from the store only when this host has no unfinished job of it any more.
  func tell(of jobs: [FinishedJob], then: @escaping @Sendable () -> Void) {
    if notifiers.isEmpty { return then() }
    queue.async { [self] in
      let batches = Set(jobs.lazy.compactMap(\.batch)).filter { !isUnfinished($0) }
      tell(ofJobs: jobs.filter { $0.failureText != nil }.map(\.objectID), batches)
      then()
    }
  }

  /// Tells of those jobs of files that were found again which had failed already, and of their batches if these have ended,
  /// and then continues. What was told of them before is recognized by its ID.
  func tellAgain(of ids: [ManagedObjectID], then: @escaping @Sendable () -> Void) {
    if notifiers.isEmpty || ids.isEmpty { return then() }
    queue.async { [self] in
      do { tell(ofJobs: ids, Set(try read(ids) { $0.batch })) } catch { report(error) }
      then()
    }
  }

  /// Notes that the store has no room: no job could be made durable now, so it is told afterwards.
  func noteFullStore(_ error: StoreError) { fullStore.withLock { $0 = (error.description, Date()) } }

  /// Tells that the store had no room until now, if it had none.
  func noteRoom() {
    guard let (error, since) = fullStore.withLock({ $0.take() }) else { return }
    tell([Notice(fullStore: error, since: since, until: Date())])
  }

  /// Tells of events.
  func tell(_ notices: [Notice]) { queue.async { [self] in tellNow(notices) } }

  /// Keeps from now on what is to be told for the next start: nothing is admitted any more.
  func close() {
    isClosed.store(true, ordering: .relaxed)
    flush()
  }

  /// Tells at once of what waits for the end of a minute, behind the events so far.
  func flush() {
    queue.sync {
      timer.cancel()
      for (name, notifier) in notifiers {
        if let rest = limiters.withLock({ $0[name]?.drain() }) { send(rest, of: name, notifier) }
      }
    }
  }

  private func tell(ofJobs ids: [ManagedObjectID], _ batches: Set<String>) {
    let notifiers = notifiers.values
    let batches = notifiers.contains { $0.kinds.contains(.batch) } ? batches.sorted() : []
    if ids.isEmpty && batches.isEmpty { return }
    do {
      let types = Set(notifiers.map(\.type))
      let jobs = try read(ids) { job in
        types.contains(job.type) ? nil : [Notice(job), Notice(ofSchedule: job)].compactMap(\.self)
      }
      // As they are on disk: of the jobs that end last, wherever they came to, the last one finds the batch ended.
      let ended = try ManagedObjectContext(coordinator: coordinator, name: "notices").performAndWait { context in
        try batches.map { try BatchSummary(ofBatch: $0, in: context) }
      }
      tellNow(jobs.flatMap(\.self) + ended.filter(\.isOver).map { Notice($0) })
    } catch {
      report(error)
    }
  }

  private func read<Value: Sendable>(
    _ ids: [ManagedObjectID], _ body: @Sendable (Job) -> Value?
  ) throws -> [Value] {
    var values: [Value] = []
    for start in stride(from: 0, to: ids.count, by: Self.chunkSize) {
      let chunk = ids[start..<min(start + Self.chunkSize, ids.count)]
      values += try ManagedObjectContext(parent: main, name: "notices").performAndWait { context in
        try context.fetch(FetchRequest<Job>(objectIDs: chunk)).compactMap(body)
      }
    }
    return values
  }

  private func report(_ error: any Error) { log.error("nobody can be told of jobs that have ended: \(error)") }

  // MARK: Notices

  private func tellNow(_ notices: [Notice]) {
    for (name, notifier) in notifiers.sorted(by: { $0.key < $1.key }) {
      for notice in notices where notifier.kinds.contains(notice.kind) {
        let now = Moment.now().steady
        let outgoing = limiters.withLock { limiters in
          limiters[name, default: NoticeLimiter()].add(notice, limit: notifier.limit, at: now)
        }
        if let outgoing { send(outgoing, of: name, notifier) }
      }
    }
    arm()
  }

  /// Has what waits told when it may be.
  private func arm() {
    let notifiers = notifiers
    let due = limiters.withLock { limiters in
      limiters.compactMap { name, limiter in notifiers[name].flatMap { limiter.dueTime(limit: $0.limit) } }.min()
    }
    guard let due else { return }
    timer.arm(after: .milliseconds(max(0, due - Moment.now().steady))) { [weak self] in self?.tellDue() }
  }

  private func tellDue() {
    for (name, notifier) in notifiers {
      let now = Moment.now().steady
      if let outgoing = limiters.withLock({ $0[name]?.next(limit: notifier.limit, at: now) }) {
        send(outgoing, of: name, notifier)
      }
    }
    arm()
  }

  /// Submits the job of a notice; what can't be submitted now is tried again.
  private func send(_ outgoing: NoticeLimiter.Outgoing, of name: String, _ notifier: Configuration.Notifier) {
    var job: JSONObject = [
      "type": .string(notifier.type), "queue": .string(notifier.queue), "arguments": outgoing.arguments,
    ]
    if let id = outgoing.jobID(of: name) { job["id"] = .string(id) }
    let data = Data(JSONValue.object(job).serializedBytes())
    do {
      try isClosed.load(ordering: .relaxed) ? keep(data) : submit(data)
      meter.noteNotice()
    } catch is UnansweredAdmission {
      // Its file is kept.
      meter.noteNotice()
    } catch let error as JobFileError {
      log.error("a notice of [Notify \(name)] is refused by its type \"\(notifier.type)\": \(error)")
    } catch let error as AdmissionRefusal {
      log.notice("a notice of [Notify \(name)] is refused: \(error.reason)")
    } catch {
      log.error("a notice of [Notify \(name)] can't be submitted, and is tried again in a minute: \(error)")
      limiters.withLock { $0[name]?.putBack(outgoing, at: Moment.now().steady) }
    }
  }
}
