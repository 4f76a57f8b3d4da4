package import Jobs
package import ObjectGraph

/// The unfinished jobs, and the choice of the next one to run: a value without clock, threads or store.
///
/// Jobs lie in lanes, one for each set of limits that they share; a lane whose limit is reached is parked with it, so
/// that finding the next job costs the logarithm of their number, whatever is paused, limited or waiting.
package struct Schedule: Sendable {
  /// Slots, reused when their job is gone.
  var jobs: ContiguousArray<ScheduledJob?> = []
  var slots: [ManagedObjectID: Int] = [:]
  private var freeSlots: [Int] = []
  private var nextSequence: UInt64 = 1

  /// The first is ``Resource/Name/everything``.
  var resources = [Resource(.everything)]
  private(set) var resourceIndexes: [Resource.Name: Int] = [.everything: 0]
  /// The queues and types among them, apart from the many keys that there may be.
  private(set) var queuesAndTypes: Set<Int> = []
  /// The resources that operators have paused.
  package private(set) var paused: Set<Resource.Name> = []
  var lanes: [Lane] = []
  private var laneIndexes: [Lane.Key: Int] = [:]
  private var freeResources: [Int] = []
  private var freeLanes: [Int] = []
  private var freeBatches: [Int] = []
  var openLanes = Heap<LaneTurn>()

  package var alarms = Alarms()
  package var dependencies = Dependencies()
  var batches: [Batch] = []
  private(set) var batchIndexes: [String: Int] = [:]
  /// The numbers of the running attempts.
  package var attempts: [ManagedObjectID: Int] = [:]
  /// Held jobs of types without a handler, until there is one.
  package var awaitingHandler: Set<ManagedObjectID> = []
  /// The unfinished job that owns each unique key.
  package var uniqueOwners: [String: ManagedObjectID] = [:]
  var uniqueKeys: [ManagedObjectID: String] = [:]

  /// The milliseconds of waiting that one step of priority is worth, so that no job waits for ever.
  let agingStep: Int64
  /// When jobs were started before, as far as it still counts for rates; on the steady clock, the oldest first.
  private var earlierStarts: [Resource.Name: [Int64]] = [:]

  /// - Parameter agingStep: the milliseconds of waiting that one step of priority is worth.
  package init(agingStep: Int64) { self.agingStep = agingStep }

  package var count: Int { slots.count }
  package var counts: [JobState: Int] { resources[0].counts }

  package func contains(_ id: ManagedObjectID) -> Bool { slots[id] != nil }

  /// A job's state, or nil if it is not here.
  package func state(of id: ManagedObjectID) -> JobState? { job(id)?.state }

  package func job(_ id: ManagedObjectID) -> ScheduledJob? { slots[id].flatMap { jobs[$0] } }

  /// Adds a job. The jobs that it waits for must be here already, unless they are not known at all.
  package mutating func add(_ new: NewJob, at now: Moment) {
    let specification = new.specification
    let key = Lane.Key(
      queue: resource(.queue(specification.queue)), type: resource(.type(specification.type)),
      limit: specification.limit.map { limit($0) } ?? -1,
      place: (new.place.map { .place($0) } ?? new.wholeFile.map { .file($0) }).map { resource($0) } ?? -1)
    let slot = freeSlots.popLast() ?? jobs.count
    if slot == jobs.count { jobs.append(nil) }
    var job = ScheduledJob(
      id: new.id, file: new.file, sequence: nextSequence, lane: Int32(lane(key)),
      batch: specification.batch.map { Int32(batch($0)) } ?? -1, priority: Int8(clamping: specification.priority),
      state: .available)
    nextSequence += 1
    if let time = new.retryTime {
      job.due = now.steady + max(0, time - now.wall)
      job.dueIsSteady = true
      job.state = .retryable
    } else if let date = specification.notBefore, date.milliseconds > now.wall {
      job.due = date.milliseconds
      job.state = .scheduled
    }
    if new.isHeld { job.state = .held }
    if new.isResumed, job.state == .available { (job.isResumed, job.due) = (true, now.steady) }
    jobs[slot] = job
    slots[new.id] = slot
    dependencies.need(new.needs, by: new.id)
    for blocker in new.blockers { block(slot, by: blocker) }
    if !new.isHeld, let blockers = jobs[slot]?.blockers, blockers > 0 { jobs[slot]?.state = .waiting }
    count(slot, 1)
    if job.batch >= 0 { batches[Int(job.batch)].unfinished += 1 }
    if let unique = specification.unique {
      uniqueOwners[unique] = new.id
      uniqueKeys[new.id] = unique
    }
    resolve(name: new.name, as: new.id)
    switch jobs[slot]?.state {
    case .available: makeReady(slot, since: now.steady - max(0, now.wall - (new.readyTime ?? now.wall)))
    case .scheduled, .retryable: arm(slot)
    default: break
    }
  }

  /// Removes a job that is final and durable.
  package mutating func remove(_ id: ManagedObjectID, at now: Moment) {
    // A new start may have come before the news of the end.
    guard let slot = slots[id], let job = jobs[slot], job.state.isFinal else { return }
    free(slot, of: job)
    for resource in lanes[Int(job.lane)].resources { forget(resource, at: now) }
  }

  private mutating func free(_ slot: Int, of job: ScheduledJob) {
    slots[job.id] = nil
    awaitingHandler.remove(job.id)
    count(slot, -1)
    jobs[slot] = nil
    freeSlots.append(slot)
  }

  /// Puts another specification in the place of an unfinished job's that does not run; those that wait for the job keep
  /// waiting. A job that is not here is added, and nothing happens to one that runs.
  ///
  /// - Returns: the job as it was; nil if it was not here, or runs.
  package mutating func replace(with new: NewJob, at now: Moment) -> ScheduledJob? {
    guard let slot = slots[new.id], let old = jobs[slot] else {
      add(new, at: now)
      return nil
    }
    if old.state == .running || old.state.isFinal { return nil }
    dropClaims(of: old)
    free(slot, of: old)
    add(new, at: now)
    // Last, so that neither its batch nor its limits are gone in between if the new one has the same.
    if old.batch >= 0 { leave(Int(old.batch), at: now) }
    for resource in lanes[Int(old.lane)].resources { forget(resource, at: now) }
    return old
  }

  // MARK: States

  /// Moves a job to the state that an event leads to.
  ///
  /// - Returns: true if the event can happen in its state; nothing changes otherwise.
  @discardableResult
  mutating func apply(_ event: JobEvent, to slot: Int) -> Bool {
    guard let state = jobs[slot]?.state.after(event) else { return false }
    enter(state, slot)
    return true
  }

  mutating func enter(_ state: JobState, _ slot: Int) {
    count(slot, -1)
    jobs[slot]?.state = state
    count(slot, 1)
  }

  private mutating func count(_ slot: Int, _ step: Int) {
    guard let job = jobs[slot] else { return }
    if step < 0, job.state == .available { noteNotReady(job) }
    for resource in lanes[Int(job.lane)].resources { resources[resource].count(job.state, step) }
  }

  // MARK: Resources, lanes and batches

  /// Returns the index of a resource, which is made when it is first named.
  mutating func resource(_ name: Resource.Name) -> Int {
    if let index = resourceIndexes[name] { return index }
    let index = freeResources.popLast() ?? resources.count
    if index == resources.count { resources.append(Resource(name)) } else { resources[index] = Resource(name) }
    resourceIndexes[name] = index
    if name.isQueueOrType { queuesAndTypes.insert(index) }
    return index
  }

  /// Marks a resource as paused or not, and returns its index.
  mutating func notePaused(_ isPaused: Bool, _ name: Resource.Name) -> Int {
    let index = resource(name)
    resources[index].isPaused = isPaused
    if isPaused { paused.insert(name) } else { paused.remove(name) }
    return index
  }

  private mutating func limit(_ limit: JobLimit) -> Int {
    let index = resource(.key(limit.key))
    resources[index].concurrent = limit.concurrent
    setRate(limit.rate, of: index)
    return index
  }

  private mutating func setRate(_ rate: JobLimit.Rate?, of index: Int) {
    resources[index].rate = rate.map {
      resources[index].rate?.with($0) ?? RateLimiter($0).recalling(earlierStarts[resources[index].name] ?? [])
    }
  }

  /// Counts starts from before this schedule was there, by another lead or an earlier run; to be called before jobs are added.
  ///
  /// - Parameter starts: when jobs that count for each rate were started, on the steady clock in milliseconds, the oldest first.
  package mutating func recall(_ starts: [Resource.Name: [Int64]]) {
    earlierStarts = starts
    for (name, times) in starts {
      guard let index = resourceIndexes[name] else { continue }
      resources[index].rate = resources[index].rate?.recalling(times)
    }
  }

  private mutating func lane(_ key: Lane.Key) -> Int {
    if let index = laneIndexes[key] { return index }
    let index = freeLanes.popLast() ?? lanes.count
    if index == lanes.count { lanes.append(Lane(key)) } else { lanes[index] = Lane(key) }
    laneIndexes[key] = index
    for resource in lanes[index].resources.dropFirst() { resources[resource].lanes.insert(key) }
    return index
  }

  /// Drops a queue, type or key that no job names any more: there may be one for every customer, order or host there
  /// ever was.
  mutating func forget(_ index: Int, at now: Moment) {
    guard resources[index].isForgettable, resourceIndexes[resources[index].name] == index else { return }
    // Until then it has to remember its starts.
    if let time = resources[index].rate?.idleTime, time > now.steady { return arm(resource: index, at: time) }
    resourceIndexes[resources[index].name] = nil
    queuesAndTypes.remove(index)
    for key in resources[index].lanes {
      guard let lane = laneIndexes.removeValue(forKey: key) else { continue }
      freeLanes.append(lane)
      for other in lanes[lane].resources where other != index { resources[other].lanes.remove(key) }
    }
    freeResources.append(index)
  }

  mutating func batch(_ name: String) -> Int {
    if let index = batchIndexes[name] { return index }
    let index = freeBatches.popLast() ?? batches.count
    if index == batches.count { batches.append(Batch(name: name)) } else { batches[index] = Batch(name: name) }
    batchIndexes[name] = index
    return index
  }

  /// Drops a batch with no unfinished jobs.
  mutating func forgetBatch(_ index: Int) {
    guard batches[index].unfinished == 0, batches[index].waiting.isEmpty else { return }
    batchIndexes[batches[index].name] = nil
    freeBatches.append(index)
  }
}

/// The moves that workers and operators make with jobs.
extension Schedule {
  /// Ends an attempt.
  ///
  /// - Parameters:
  ///   - event: how the attempt ended.
  ///   - delay: milliseconds until the next attempt, after ``JobEvent/failed``.
  /// - Returns: jobs to be cancelled, since they depend on it.
  package mutating func endAttempt(
    of id: ManagedObjectID, _ event: JobEvent, delay: Int64 = 0, at now: Moment
  ) -> [ManagedObjectID] {
    guard let slot = slots[id], jobs[slot]?.state == .running else { return [] }
    vacate(slot, at: now)
    attempts[id] = nil
    guard apply(event, to: slot), let state = jobs[slot]?.state else { return [] }
    jobs[slot]?.isResumed = false
    switch state {
    case .retryable:
      jobs[slot]?.due = now.steady + delay
      jobs[slot]?.dueIsSteady = true
      arm(slot)
    case .available: makeReady(slot, since: now.steady)
    default: break
    }
    return state.isFinal ? finish(id, as: state, at: now) : []
  }

  /// Cancels a job that is not running; false if it is not here, runs, or is final.
  ///
  /// Those that wait for it are unblocked by ``finish(_:as:at:)``, once the end is on record.
  package mutating func cancel(_ id: ManagedObjectID) -> Bool {
    guard let slot = slots[id], jobs[slot]?.state != .running else { return false }
    return apply(.cancelled, to: slot)
  }

  /// Holds a job that is not running; false if it is not here, runs, or can't be held.
  package mutating func hold(_ id: ManagedObjectID) -> Bool {
    guard let slot = slots[id], jobs[slot]?.state != .running else { return false }
    // One that only waits for a handler is held by an operator from now on.
    if awaitingHandler.remove(id) != nil { return true }
    return apply(.held, to: slot)
  }

  /// The state in which a held job continues; nil if it is not held.
  package func stateAfterResume(of id: ManagedObjectID, at now: Moment) -> JobState? {
    guard let job = job(id), job.state == .held else { return nil }
    if job.blockers > 0 { return .waiting }
    return job.due > (job.dueIsSteady ? now.steady : now.wall) ? .scheduled : .available
  }

  /// Resumes a held job; false if it is not held.
  package mutating func resume(_ id: ManagedObjectID, at now: Moment) -> Bool {
    guard let slot = slots[id], let job = jobs[slot], let state = stateAfterResume(of: id, at: now) else {
      return false
    }
    if state == .waiting { return apply(.releasedWaiting, to: slot) }
    if state == .scheduled {
      if job.dueIsSteady { jobs[slot]?.due = now.wall + job.due - now.steady }
      jobs[slot]?.dueIsSteady = false
      apply(.releasedEarly, to: slot)
      arm(slot)
    } else {
      apply(.released, to: slot)
      jobs[slot]?.isResumed = false
      makeReady(slot, since: now.steady)
    }
    return true
  }

  /// Resumes jobs that are held because their type had no handler.
  package mutating func resumeJobs(ofTypes isKnown: (String) -> Bool, at now: Moment) {
    for id in awaitingHandler {
      guard let job = job(id), case .type(let type) = resources[lanes[Int(job.lane)].resources[2]].name,
        isKnown(type)
      else { continue }
      awaitingHandler.remove(id)
      _ = resume(id, at: now)
    }
  }

  /// Holds a job that waits for a time, so that it runs as soon as it is resumed; false if it does not wait for one.
  package mutating func forgetTime(of id: ManagedObjectID) -> Bool {
    guard let slot = slots[id], let state = jobs[slot]?.state, state == .scheduled || state == .retryable,
      apply(.held, to: slot)
    else { return false }
    jobs[slot]?.due = 0
    return true
  }

  /// Gives an unfinished job another priority; false if it is not here.
  package mutating func setPriority(_ priority: Int, of id: ManagedObjectID, at now: Moment) -> Bool {
    guard let slot = slots[id], let job = jobs[slot], !job.state.isFinal else { return false }
    if job.state == .available { noteNotReady(job) }
    jobs[slot]?.priority = Int8(clamping: priority)
    // It keeps the time that it has waited.
    if job.state == .available { makeReady(slot, since: readyTime(of: job)) }
    return true
  }

  // MARK: Limits

  /// Stops or resumes the start of jobs.
  package mutating func setPaused(_ isPaused: Bool, _ name: Resource.Name, at now: Moment) {
    let index = notePaused(isPaused, name)
    promote(index, at: now)
    forget(index, at: now)
  }

  /// Sets the limits of queues and types.
  package mutating func setLimits(_ limits: [ResourceLimits], at now: Moment) {
    for one in limits { setLimits(one.name, concurrent: one.concurrent, rate: one.rate, at: now) }
  }

  /// Sets the limits of a queue or a type.
  package mutating func setLimits(_ name: Resource.Name, concurrent: Int?, rate: JobLimit.Rate?, at now: Moment) {
    let index = resource(name)
    resources[index].concurrent = concurrent
    setRate(rate, of: index)
    promote(index, at: now)
    forget(index, at: now)
  }
}
