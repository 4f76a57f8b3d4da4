import Dispatch
import Foundation
import JSONText
import Jobs
import ObjectGraph
import StatusReplies
import Synchronization
import SystemSupport

/// Tells readers what happens to jobs, a few times a second at most, whatever the rate of jobs is.
///
/// Main's changes, starts and flushes name the jobs; a child of main reads some of them at a time, and what it shows goes to a ring that all
/// readers share. Nothing is observed, and no timer runs, unless somebody reads or has just read. Documentation/Design has
/// a note on why no results controller does this.
final class EventFeed: Sendable {
  /// An answer to a reader that asks for the next event.
  enum Next {
    case event(text: [UInt8], number: UInt64)
    /// Nothing until the event of this number.
    case nothing(place: UInt64)
    /// The reader was too slow: events that it has not read are gone.
    case overtaken
  }

  /// The time between two looks at what has changed.
  private static let interval = Duration.milliseconds(250)
  /// The time between two looks at what running jobs report of their progress.
  private static let progressInterval = Duration.seconds(1)
  private static let beatInterval = Duration.seconds(15)
  /// The time for which events are kept for readers that come back.
  private static let lingerTime = Duration.seconds(60)
  /// The most changed jobs that are named one by one; if there are more, readers are told to read anew instead.
  private static let jobLimit = 64
  /// The shortest time between two such calls to one reader.
  private static let resetInterval = Duration.seconds(1)
  /// The shortest time between two such calls to any reader: what they read then must not cost more the more they are.
  private static let sharedResetInterval = Duration.milliseconds(50)
  /// The most changes that are remembered until the next look.
  private static let changeLimit = 4_096

  private struct State {
    var ring = EventRing()
    var readers: [ObjectIdentifier: EventReader] = [:]
    /// True while changes are noted.
    var isFollowing = false
    var changed: Set<ManagedObjectID> = []
    var deleted: [ManagedObjectID] = []
    /// True if more has changed than is remembered.
    var hasMissed = false
    var isLookDue = false

    /// The number of the first event for a client that has received one last, and why it has to read anew, if it has to.
    func place(behind lastID: String?) -> (number: UInt64, reason: String?) {
      guard let lastID, !lastID.isEmpty else { return (ring.next, nil) }
      let parts = lastID.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0] == ring.epoch, let number = UInt64(parts[1]), number < .max else {
        return (ring.next, "restarted")
      }
      // While nobody reads, nothing is noted.
      return isFollowing && ring.has(from: number + 1) ? (number + 1, nil) : (ring.next, "too-old")
    }
  }

  /// The findings of the last look; changed on the queue only.
  fileprivate struct Seen {
    var status: [UInt8] = []
    var progress: [ManagedObjectID: JobProgress] = [:]
    var lastProgress: ContinuousClock.Instant?
    /// The names of jobs that were told of, by which their removal is told.
    var names: [ManagedObjectID: StatusEvent.Subject] = [:]
    /// The jobs that readers follow by their IDs.
    var followed: [String: ManagedObjectID] = [:]
    var lastReset: ContinuousClock.Instant?
    /// True if readers are to be told to read anew.
    var owesReset = false
  }

  private let daemon: Daemon
  private let queue = DispatchQueue(label: "events")
  private let timer: OneShotTimer
  private let beatTimer: OneShotTimer
  private let lingerTimer: OneShotTimer
  private let state = Mutex(State())
  private let seen = Mutex(Seen())
  /// Held while it begins or ends to follow, so that both are whole.
  private let observation = Mutex<ContextObservation?>(nil)

  init(_ daemon: Daemon) {
    self.daemon = daemon
    timer = OneShotTimer(queue: queue)
    beatTimer = OneShotTimer(queue: queue)
    lingerTimer = OneShotTimer(queue: queue)
  }

  // MARK: Readers

  /// Makes a reader that goes on behind the event that its client has received last.
  ///
  /// - Parameters:
  ///   - lastID: the client's `Last-Event-ID`.
  ///   - checkInterval: the shortest time between two questions for the right to read.
  ///   - mayRead: asked again and again; false ends the stream.
  func reader(
    _ filter: EventFilter, after lastID: String?, checkingEvery checkInterval: Duration = .zero,
    while mayRead: @escaping @Sendable () -> Bool = { true }
  ) -> EventReader {
    let (place, id, reason) = state.withLock { state in
      let (place, reason) = state.place(behind: lastID)
      return (place, state.ring.identifier(of: place - 1), reason)
    }
    let greeting = (reason.map { [Self.reset($0)] } ?? []) + [StatusEvent(kind: .status, data: statusData)]
    return EventReader(
      self, filter, from: place, greeting: greeting.flatMap { $0.text(as: id) }, checkingEvery: checkInterval,
      while: mayRead)
  }

  func add(_ reader: EventReader) {
    let isFirst = state.withLock { state in
      state.readers[ObjectIdentifier(reader)] = reader
      return state.readers.count == 1
    }
    lingerTimer.disarm()
    if isFirst {
      follow()
      armBeat()
    }
    lookSoon()
  }

  func remove(_ reader: EventReader) {
    let isLast = state.withLock { state in
      state.readers[ObjectIdentifier(reader)] = nil
      return state.readers.isEmpty
    }
    guard isLast else { return }
    beatTimer.disarm()
    lingerTimer.arm(after: Self.lingerTime) { [weak self] in self?.rest() }
  }

  /// Finds the next event for a reader.
  func next(from place: UInt64, _ filter: EventFilter) -> Next {
    state.withLock { state in
      guard state.ring.has(from: place) else { return .overtaken }
      for number in place..<state.ring.next {
        let entry = state.ring.entry(number)
        guard let kind = filter.kind(of: entry.kind, about: entry.subject) else { continue }
        if kind == entry.kind { return .event(text: entry.text, number: number) }
        guard let subject = entry.subject else { continue }
        return .event(
          text: StatusEvent.removed(subject).text(as: state.ring.identifier(of: number)), number: number)
      }
      return .nothing(place: state.ring.next)
    }
  }

  private func armBeat() {
    beatTimer.arm(after: Self.beatInterval) { [weak self] in
      guard let self else { return }
      let readers = state.withLock { Array($0.readers.values) }
      if readers.isEmpty { return }
      for reader in readers { reader.beat() }
      // Some states change without a change of any record.
      lookSoon()
      armBeat()
    }
  }

  // MARK: Following

  private func follow() {
    let jobs = daemon.main.coordinator.model.entitiesByName[Job.entityName]
    let root = jobs.map { UInt16(truncatingIfNeeded: $0.root.index) }
    observation.withLock { observation in
      if observation != nil { return }
      observation = daemon.main.observe { [weak self] event in
        if case .didChange(let change) = event { self?.note(change, root) }
      }
      daemon.meter.observe { [weak self] jobs in self?.note(jobs) }
      state.withLock { $0.isFollowing = true }
    }
  }

  /// Follows nothing until the next reader comes.
  private func rest() {
    observation.withLock { observation in
      let isUnread = state.withLock { state in
        guard state.readers.isEmpty else { return false }
        state.ring.forget()
        (state.changed, state.deleted, state.hasMissed) = ([], [], false)
        (state.isFollowing, state.isLookDue) = (false, false)
        return true
      }
      guard isUnread else { return }
      observation = nil
      daemon.meter.observe(nil)
      timer.disarm()
      seen.withLock { $0 = Seen() }
    }
  }

  private func note(_ change: ObjectsDidChange, _ root: UInt16?) {
    let isJob: (ManagedObjectID) -> Bool = { $0.rootIndex == root }
    let deleted = change.deletedObjectIDs.filter(isJob)
    if !deleted.isEmpty {
      state.withLock { state in
        let room = max(0, Self.changeLimit - state.deleted.count)
        state.deleted += deleted.prefix(room)
        if deleted.count > room { state.hasMissed = true }
      }
    }
    if change.isIncomplete { state.withLock { $0.hasMissed = true } }
    note((change.insertedObjectIDs + change.updatedObjectIDs).filter(isJob))
  }

  /// Notes jobs that have changed; called wherever that happens, so it only remembers them.
  private func note(_ jobs: [ManagedObjectID]) {
    state.withLock { state in
      for job in jobs {
        if state.changed.count >= Self.changeLimit {
          state.hasMissed = true
          break
        }
        state.changed.insert(job)
      }
    }
    lookSoon()
  }

  private func lookSoon() {
    let isNew = state.withLock { state in
      defer { state.isLookDue = true }
      return !state.isLookDue
    }
    if isNew { timer.arm(after: Self.interval) { [weak self] in self?.look() } }
  }

  // MARK: Looking

  /// Reads what has changed, and tells the readers.
  private func look() {
    let (changed, deleted, hasMissed, filters, readerCount) = state.withLock { state in
      defer { (state.changed, state.deleted, state.hasMissed, state.isLookDue) = ([], [], false, false) }
      let filters = state.readers.values.compactMap(\.filter.id)
      return (state.changed, state.deleted, state.hasMissed, filters, state.readers.count)
    }
    let running = daemon.scheduler.allRunning
    // A copy, as only this queue changes it.
    var seen = seen.withLock { $0 }
    var events = seen.removals(of: deleted)
    let isUnknown = events.count < deleted.count
    let moved = seen.isProgressDue(every: Self.progressInterval) ? seen.noteProgress(of: running) : []
    let (jobs, isCut) = read(changed.subtracting(deleted), moved: moved, following: Set(filters), &seen)
    events += jobs
    if hasMissed || isCut || isUnknown { seen.owesReset = true }
    let delay = seen.dropReset(every: max(Self.resetInterval, Self.sharedResetInterval * readerCount))
    if delay == .zero { events.append(Self.reset("too-many")) }
    let status = statusData
    if status != seen.status {
      seen.status = status
      events.append(StatusEvent(kind: .status, data: status))
    }
    self.seen.withLock { [seen] in $0 = seen }
    tell(events)
    if state.withLock({ $0.readers.isEmpty }) { return }
    if let pause = [delay, running.isEmpty ? nil : Self.progressInterval].compactMap(\.self).filter({ $0 > .zero })
      .min()
    {
      timer.arm(after: pause, replacing: false) { [weak self] in self?.look() }
    }
  }

  /// Tells the readers.
  func tell(_ events: [StatusEvent]) {
    let readers = state.withLock { state in
      for event in events { state.ring.append(event) }
      return events.isEmpty ? [] : Array(state.readers.values)
    }
    for reader in readers { reader.wake() }
  }

  /// Shows those jobs that readers follow or whose progress moved, and the others if they are few.
  ///
  /// Where thousands of jobs end in a second, some of their names would tell readers nothing and cost more than all else.
  ///
  /// - Returns: their events, and whether some were left out.
  private func read(
    _ changed: Set<ManagedObjectID>, moved: [ManagedObjectID], following names: Set<String>, _ seen: inout Seen
  ) -> (events: [StatusEvent], isCut: Bool) {
    if changed.isEmpty && moved.isEmpty { return ([], false) }
    let known = seen.followed.filter { names.contains($0.key) }
    let daemon = daemon
    do {
      let child = ManagedObjectContext(parent: daemon.main, name: "events")
      let (shown, gone, followed, isCut) = try child.performAndWait { context in
        var followed = known
        for name in names where followed[name] == nil {
          followed[name] = try context.fetch(FetchRequest<Job>(#Predicate { $0.id == name }, limit: 1)).first?.objectID
        }
        let first = changed.intersection(followed.values).union(moved.prefix(Self.jobLimit))
        let others = changed.subtracting(first)
        let isCut = others.count > Self.jobLimit || moved.count > Self.jobLimit
        let chosen = others.count > Self.jobLimit ? first : first.union(others)
        let jobs = try context.fetch(FetchRequest<Job>(objectIDs: Array(chosen)))
        var look = LiveLook(daemon)
        let live = try look.views(of: jobs)
        let shown = jobs.map { job in
          let reply = JobReply(job, live: live[job.objectID], withArguments: false)
          let subject = StatusEvent.Subject(
            id: job.id, type: job.type, queue: job.queue, batch: job.batch,
            state: JobState(rawValue: reply.state.rawValue))
          return (job.objectID, StatusEvent(kind: .job, data: reply.json.serializedBytes(), subject: subject))
        }
        let gone = chosen.subtracting(jobs.lazy.map(\.objectID))
        return (shown, Array(gone), followed, isCut)
      }
      seen.followed = followed
      seen.note(shown.map { ($0, $1.subject) })
      return (shown.map(\.1) + seen.removals(of: gone), isCut)
    } catch {
      daemon.engine.report(error, "jobs can't be read for those who follow events")
      return ([], true)
    }
  }

  private static func reset(_ reason: String) -> StatusEvent {
    StatusEvent(kind: .reset, data: JSONValue.object(["reason": .string(reason)]).serializedBytes())
  }

  /// The part of the status that events tell.
  private var statusData: [UInt8] {
    let status = daemon.statusReply().json.object ?? [:]
    var part = JSONObject()
    for key in ["state", "jobs", "pauses", "workers", "heldTypes", "shortage"] { part[key] = status[key] }
    return JSONValue.object(part).serializedBytes()
  }
}

extension EventFeed.Seen {
  /// The most names that are remembered.
  private static let nameLimit = 10_000

  fileprivate mutating func note(_ jobs: [(ManagedObjectID, StatusEvent.Subject?)]) {
    if names.count > Self.nameLimit { names = [:] }
    for (id, subject) in jobs { names[id] = subject }
  }

  /// The events of removed jobs, as far as they were told of before.
  fileprivate mutating func removals(of deleted: [ManagedObjectID]) -> [StatusEvent] {
    deleted.compactMap { names.removeValue(forKey: $0).map(StatusEvent.removed) }
  }

  /// True if it is time to look at progress once more.
  fileprivate mutating func isProgressDue(every interval: Duration) -> Bool {
    let now = ContinuousClock.now
    if let lastProgress, now - lastProgress < interval { return false }
    lastProgress = now
    return true
  }

  /// The running jobs whose progress is another than at the last look.
  fileprivate mutating func noteProgress(of running: [RunningJob]) -> [ManagedObjectID] {
    let now = running.reduce(into: [ManagedObjectID: JobProgress]()) { progress, job in
      progress[job.objectID] = job.attempt?.execution.lookAtProgress().progress
    }
    defer { progress = now }
    return now.filter { progress[$0.key] != $0.value && $0.value != JobProgress() }.map(\.key)
  }

  /// Returns how long readers have to wait until they are told to read anew; zero if it is time, and nil if they are
  /// not to be told.
  fileprivate mutating func dropReset(every interval: Duration) -> Duration? {
    guard owesReset else { return nil }
    let now = ContinuousClock.now
    if let lastReset, now - lastReset < interval { return interval - (now - lastReset) }
    (lastReset, owesReset) = (now, false)
    return .zero
  }
}
