import Configuration
import Dispatch
import Fleet
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Gives workers the next jobs, and wakes jobs whose time has come.
///
/// One timer for each clock is armed for the next due time only; nothing runs while nothing is due. On a host of a fleet
/// the lead decides: the schedule holds this spool's jobs, and those that were assigned to this host, at a place that
/// never has room (``elsewhere``); only an assignment starts one.
final class Scheduler: Sendable {
  /// A run that waits for a worker, with its job, and the time on the steady clock since when.
  private struct AssignedRun {
    let run: Run
    let job: NewJob
    let since: Int64
  }

  private struct State {
    var schedule: Schedule
    /// Runs that are assigned to this host and that no worker has begun; a slice, whose first is taken without moving the
    /// others.
    var assigned: ArraySlice<AssignedRun> = []
    var workers: [CheckedContinuation<RunningJob?, Never>] = []
    var running: [ManagedObjectID: RunningJob] = [:]
    var isClosed = false
    /// The times for which the timers are armed.
    var steadyTime = Int64.max
    var wallTime = Int64.max
  }

  private let state: Mutex<State>
  private let queue = DispatchQueue(label: "scheduler")
  private let steadyTimer: OneShotTimer
  private let wallTimer: OneShotTimer
  private let patienceTimer: OneShotTimer
  private let events: DaemonEvents
  private let now: @Sendable () -> Moment
  /// True if this host may still begin what was assigned to it.
  private let mayBegin: @Sendable (Moment) -> Bool
  /// The reason why a run is to end that was assigned to this host, if it is.
  private let stop: @Sendable (Run) -> RunningJob.Stop?
  /// True if anything waits for the end of a job.
  private let isAwaited: @Sendable (ManagedObjectID) -> Bool

  /// The longest that an assigned run waits for a worker, before it is given back to the lead.
  private let patience: Duration

  /// The place of jobs that wait for an assignment.
  static let elsewhere = "elsewhere"
  /// The places that this host offers.
  private let places: Set<String>

  /// The most jobs; beyond them files stay in `new/`. Each costs some 200 bytes.
  private static let jobLimit = 2_000_000

  /// - Parameters:
  ///   - places: the places that this host offers to jobs that name one.
  ///   - mayBegin: asked before a run of a fleet begins.
  ///   - stop: asked then whether the run is to end at once.
  ///   - isAwaited: asked when another spool's job has not ended with its attempt here, whether anything waits for it.
  ///   - patience: the longest that an assigned run waits for a worker, before it is given back to the lead.
  ///   - now: the clocks.
  init(
    agingStep: Duration, places: [String] = [], events: DaemonEvents = DaemonEvents(),
    mayBegin: @escaping @Sendable (Moment) -> Bool = { _ in true },
    stop: @escaping @Sendable (Run) -> RunningJob.Stop? = { _ in nil },
    isAwaited: @escaping @Sendable (ManagedObjectID) -> Bool = { _ in false }, patience: Duration = .seconds(1),
    now: @escaping @Sendable () -> Moment = { .now() }
  ) {
    var schedule = Schedule(agingStep: agingStep.milliseconds)
    schedule.setRoom(false, at: Self.elsewhere, now: now())
    state = Mutex(State(schedule: schedule))
    self.places = Set(places)
    self.mayBegin = mayBegin
    self.stop = stop
    self.isAwaited = isAwaited
    self.patience = patience
    steadyTimer = OneShotTimer(queue: queue)
    wallTimer = OneShotTimer(queue: queue)
    patienceTimer = OneShotTimer(queue: queue)
    self.events = events
    self.now = now
  }

  /// Reads or changes the schedule, and then gives workers the jobs that have become ready.
  @discardableResult
  func change<Result: Sendable>(_ body: (inout Schedule, Moment) -> Result) -> Result {
    let (result, woken) = state.withLock { state in
      let moment = now()
      let result = body(&state.schedule, moment)
      return (result, wake(&state, moment))
    }
    for (worker, job) in woken { worker.resume(returning: job) }
    return result
  }

  /// Reads the schedule.
  func read<Result: Sendable>(_ body: (Schedule, Moment) -> Result) -> Result {
    state.withLock { body($0.schedule, now()) }
  }

  /// Calls back behind what is due, once the schedule can be read.
  func ping(_ answer: @escaping @Sendable () -> Void) {
    queue.async {
      self.state.withLock { _ in }
      answer()
    }
  }

  /// True if no more jobs may be claimed.
  var isFull: Bool { state.withLock { $0.schedule.count } >= Self.jobLimit }

  /// Adds jobs that wait for an assignment; false if one of them is here already, and then none is added.
  func addUnlessKnown(_ jobs: [NewJob]) -> Bool {
    if jobs.isEmpty { return true }
    return change { schedule, now in
      if jobs.contains(where: { schedule.contains($0.id) }) { return false }
      for job in jobs { schedule.add(job, at: now) }
      return true
    }
  }

  /// Adds jobs; those of a place that this host does not offer wait.
  func add(_ jobs: [NewJob]) {
    if jobs.isEmpty { return }
    change { schedule, now in
      for job in jobs {
        // Jobs of a file start when all of them are here; see ``start(whole:)``.
        if let file = job.wholeFile { schedule.setRoom(false, of: .file(file), now: now) }
        let new = placed(job, in: &schedule, at: now)
        schedule.add(new, at: now)
      }
    }
  }

  /// Lets the jobs of a file start, all of which are here.
  func start(whole file: FileName) {
    change { schedule, now in schedule.setRoom(true, of: .file(file.description), now: now) }
  }

  /// Puts another specification in the place of an unfinished job's that does not run, and returns the job as it was; adds
  /// one that is not here.
  func replace(with job: NewJob) -> ScheduledJob? {
    change { schedule, now in
      let new = placed(job, in: &schedule, at: now)
      return schedule.replace(with: new, at: now)
    }
  }

  private func placed(_ job: NewJob, in schedule: inout Schedule, at now: Moment) -> NewJob {
    guard job.place == nil, let place = job.specification.place, !places.contains(place) else { return job }
    schedule.setRoom(false, at: place, now: now)
    var job = job
    job.place = place
    return job
  }

  /// The running attempt at a job, if there is one.
  func running(_ id: ManagedObjectID) -> RunningJob? { state.withLock { $0.running[id] } }

  /// All running attempts.
  var allRunning: [RunningJob] { state.withLock { Array($0.running.values) } }

  // MARK: Workers

  /// Starts the next job, or waits for one; returns nil when the scheduler is closed. Stays on the caller's executor.
  func next(isolation: isolated (any Actor)? = #isolation) async -> RunningJob? {
    await withCheckedContinuation { continuation in
      let (job, mustWait): (RunningJob?, Bool) = state.withLock { state in
        if state.isClosed { return (nil, false) }
        if let job = startNext(&state, now()) { return (job, false) }
        state.workers.append(continuation)
        return (nil, true)
      }
      if !mustWait { continuation.resume(returning: job) }
    }
  }

  /// Records the number of the running attempt.
  func begin(_ job: RunningJob, attempt: Int) { change { schedule, _ in schedule.attempts[job.objectID] = attempt } }

  /// Reports ``DaemonEvent/overdue(_:)`` if the attempt still runs after a time.
  func remind(of job: RunningJob, after delay: Duration) {
    change { schedule, now in schedule.arm(timeoutOf: job.objectID, at: now.steady + delay.milliseconds) }
  }

  /// Ends an attempt.
  ///
  /// - Returns: jobs to be cancelled, since they depend on it.
  func end(_ job: RunningJob, _ event: JobEvent, delay: Duration = .zero) -> [ManagedObjectID] {
    let (lost, woken) = state.withLock { state in
      let moment = now()
      let id = job.objectID
      state.running[id] = nil
      let lost = state.schedule.endAttempt(of: id, event, delay: delay.milliseconds, at: moment)
      // Whoever has another spool's job next, it has nothing to do with this host, unless a file here waits for it.
      if job.isOfOtherSpool, !isAwaited(id), state.schedule.state(of: id)?.isFinal == false {
        state.schedule.drop(id, at: moment)
      }
      return (lost, wake(&state, moment))
    }
    for (worker, job) in woken { worker.resume(returning: job) }
    return lost
  }

  /// Sends all workers home; jobs that were not started stay as they are.
  func close() {
    let (workers, returned) = state.withLock { state in
      state.isClosed = true
      defer { (state.workers, state.assigned) = ([], []) }
      return (state.workers, state.assigned.map(\.run))
    }
    if !returned.isEmpty { events.send(.givenBack(returned)) }
    steadyTimer.cancel()
    wallTimer.cancel()
    patienceTimer.cancel()
    for worker in workers { worker.resume(returning: nil) }
  }

  // MARK: The fleet

  /// Has workers begin runs that were assigned to this host, or gives them back if it is closed.
  ///
  /// - Parameter assigned: the runs with their jobs, as far as these are not in the schedule for their files.
  func begin(_ assigned: [(run: Run, job: NewJob)]) {
    let (woken, isClosed) = state.withLock { state in
      let moment = now()
      if !state.isClosed { state.assigned += assigned.lazy.map { AssignedRun(run: $0, job: $1, since: moment.steady) } }
      return (wake(&state, moment), state.isClosed)
    }
    if isClosed, !assigned.isEmpty { events.send(.givenBack(assigned.map(\.run))) }
    for (worker, job) in woken { worker.resume(returning: job) }
  }

  /// Gives a run back to the lead, if no worker has begun it.
  func giveBack(_ run: Run) { giveBack { assigned, _, _ in assigned.run == run } }

  /// Gives back what waits for workers that are occupied longer than was to be expected.
  private func giveBackLate() {
    giveBack { [patience, mayBegin, stop] assigned, schedule, now in
      // Nobody hears of it while the database is away.
      // What is to end here would come back at once.
      // Nor would another host run one sooner whose earlier end is still on its way out.
      assigned.since + patience.milliseconds <= now.steady && mayBegin(now) && stop(assigned.run) == nil
        && schedule.state(of: assigned.run.job)?.isFinal != true
    }
  }

  private func giveBack(where isReturned: (AssignedRun, Schedule, Moment) -> Bool) {
    let returned = state.withLock { state -> [Run] in
      let moment = now()
      let schedule = state.schedule
      let returned = state.assigned.filter { isReturned($0, schedule, moment) }.map(\.run)
      state.assigned.removeAll { isReturned($0, schedule, moment) }
      armPatience(state, moment)
      return returned
    }
    if !returned.isEmpty { events.send(.givenBack(returned)) }
  }

  private func armPatience(_ state: State, _ moment: Moment) {
    guard let first = state.assigned.first else { return }
    // Once more after a while if the database was away.
    let left = max(patience.milliseconds / 2, first.since + patience.milliseconds - moment.steady)
    patienceTimer.arm(after: .milliseconds(left), replacing: false) { [weak self] in self?.giveBackLate() }
  }

  /// Begins runs that had to wait until this host may begin any again.
  func beginAssigned() { change { _, _ in } }

  /// Starts the first assigned run whose job is free: that of an earlier run may still be on its way out of the schedule,
  /// which ``change(_:)`` tells.
  private func nextAssigned(_ state: inout State, _ moment: Moment) -> RunningJob? {
    if state.assigned.isEmpty || !mayBegin(moment) { return nil }
    // By their places: a loop over the list itself would keep what was to be changed, and have it copied.
    for index in state.assigned.indices {
      let run = state.assigned[index].run
      if !state.schedule.contains(run.job) { state.schedule.add(state.assigned[index].job, at: moment) }
      guard state.schedule.restart(run.job, at: moment), let job = state.schedule.job(run.job) else { continue }
      if index == state.assigned.startIndex { state.assigned.removeFirst() } else { state.assigned.remove(at: index) }
      // What was taken keeps its memory in a slice.
      if state.assigned.isEmpty { state.assigned = [] }
      let running = RunningJob(job, run, waitingTime: waitingTime(of: job, state.schedule, moment))
      if let stop = stop(run) { running.stop(stop) }
      return running
    }
    return nil
  }

  private func startNext(_ state: inout State, _ moment: Moment) -> RunningJob? {
    let assigned = nextAssigned(&state, moment)
    let next = assigned == nil ? state.schedule.next(at: moment) : nil
    guard
      let running = assigned
        ?? next.map({
          RunningJob(
            $0, waitingTime: waitingTime(of: $0, state.schedule, moment), rates: state.schedule.rates(of: $0.id))
        })
    else {
      arm(&state, moment)
      return nil
    }
    state.running[running.objectID] = running
    return running
  }

  /// The seconds for which a job has been ready that starts.
  private func waitingTime(of job: ScheduledJob, _ schedule: Schedule, _ moment: Moment) -> Double {
    Double(schedule.waitingTime(of: job, at: moment)) / 1_000
  }

  private func wake(
    _ state: inout State, _ moment: Moment
  ) -> [(CheckedContinuation<RunningJob?, Never>, RunningJob)] {
    if state.isClosed { return [] }
    var woken: [(CheckedContinuation<RunningJob?, Never>, RunningJob)] = []
    while let worker = state.workers.last, let job = startNext(&state, moment) {
      state.workers.removeLast()
      woken.append((worker, job))
    }
    arm(&state, moment)
    armPatience(state, moment)
    return woken
  }

  // MARK: Time

  private func arm(_ state: inout State, _ moment: Moment) {
    let next = state.schedule.alarms.next
    if let time = next.steady, time < state.steadyTime {
      state.steadyTime = time
      steadyTimer.arm(after: .milliseconds(max(0, time - moment.steady))) { [weak self] in
        self?.advance { $0.steadyTime = .max }
      }
    }
    if let time = next.wall, time < state.wallTime {
      state.wallTime = time
      let wall = timespec(tv_sec: Int(time / 1000), tv_nsec: Int(time % 1000) * 1_000_000)
      wallTimer.arm(at: DispatchWallTime(timespec: wall)) { [weak self] in self?.advance { $0.wallTime = .max } }
    }
  }

  private func advance(_ reset: @Sendable (inout State) -> Void) {
    let (overdue, woken) = state.withLock { state in
      let moment = now()
      reset(&state)
      return (state.schedule.advance(to: moment), wake(&state, moment))
    }
    for (worker, job) in woken { worker.resume(returning: job) }
    for id in overdue { events.send(.overdue(id)) }
  }
}
