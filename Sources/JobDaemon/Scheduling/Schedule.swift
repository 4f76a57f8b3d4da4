import Jobs
import ObjectGraph

/// The unfinished jobs, and the choice of the next one to run: a value without clock, threads or store.
///
/// Jobs lie in lanes, one for each set of limits that they share; a lane whose limit is reached is parked with it, so
/// that finding the next job costs the logarithm of their number, whatever is paused, limited or waiting.
struct Schedule {
  /// Slots, reused when their job is gone.
  var jobs: ContiguousArray<ScheduledJob?> = []
  var slots: [ManagedObjectID: Int] = [:]
  private var freeSlots: [Int] = []
  private var nextSequence: UInt64 = 1

  /// The first is ``Resource/Name/everything``.
  var resources = [Resource(.everything)]
  var resourceIndexes: [Resource.Name: Int] = [.everything: 0]
  /// The resources that operators have paused.
  private(set) var paused: Set<Resource.Name> = []
  var lanes: [Lane] = []
  private var laneIndexes: [Lane.Key: Int] = [:]
  private var freeResources: [Int] = []
  private var freeLanes: [Int] = []
  private var freeBatches: [Int] = []
  var openLanes = Heap<LaneTurn>()

  var alarms = Alarms()
  var dependencies = Dependencies()
  var batches: [Batch] = []
  var batchIndexes: [String: Int] = [:]
  /// The numbers of the running attempts.
  var attempts: [ManagedObjectID: Int] = [:]
  /// Held jobs of types without a handler, until there is one.
  var awaitingHandler: Set<ManagedObjectID> = []
  /// The unfinished job that owns each unique key.
  var uniqueOwners: [String: ManagedObjectID] = [:]
  var uniqueKeys: [ManagedObjectID: String] = [:]

  /// The milliseconds of waiting that one step of priority is worth, so that no job waits for ever.
  var agingStep: Int64

  /// - Parameter agingStep: the milliseconds of waiting that one step of priority is worth.
  init(agingStep: Int64) { self.agingStep = agingStep }

  var count: Int { slots.count }
  var counts: [JobState: Int] { resources[0].counts }

  func contains(_ id: ManagedObjectID) -> Bool { slots[id] != nil }

  /// A job's state, or nil if it is not here.
  func state(of id: ManagedObjectID) -> JobState? { job(id)?.state }

  func job(_ id: ManagedObjectID) -> ScheduledJob? { slots[id].flatMap { jobs[$0] } }

  /// Adds a job. The jobs that it waits for must be here already, unless they are not known at all.
  mutating func add(_ new: NewJob, at now: Moment) {
    let specification = new.specification
    let key = Lane.Key(
      queue: resource(.queue(specification.queue)), type: resource(.type(specification.type)),
      limit: specification.limit.map { limit($0) } ?? -1)
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
    settle(named: new.name, as: new.id)
    switch jobs[slot]?.state {
    case .available: makeReady(slot, since: now.steady - new.age)
    case .scheduled, .retryable: arm(slot)
    default: break
    }
  }

  /// Removes a job that is final and durable.
  mutating func remove(_ id: ManagedObjectID, at now: Moment) {
    // A new start may have come before the news of the end.
    guard let slot = slots[id], let job = jobs[slot], job.state.isFinal else { return }
    slots[id] = nil
    awaitingHandler.remove(id)
    count(slot, -1)
    jobs[slot] = nil
    freeSlots.append(slot)
    for resource in lanes[Int(job.lane)].resources { forget(resource, at: now) }
  }

  // MARK: States

  /// Moves a job to the state that an event leads to.
  ///
  /// - Returns: true if the event can happen in its state; nothing changes otherwise.
  @discardableResult
  mutating func apply(_ event: JobEvent, to slot: Int) -> Bool {
    guard let state = jobs[slot]?.state.after(event) else { return false }
    count(slot, -1)
    jobs[slot]?.state = state
    count(slot, 1)
    return true
  }

  private mutating func count(_ slot: Int, _ step: Int) {
    guard let job = jobs[slot] else { return }
    for resource in lanes[Int(job.lane)].resources { resources[resource].count(job.state, step) }
  }

  // MARK: Resources, lanes and batches

  /// Returns the index of a resource, which is made when it is first named.
  mutating func resource(_ name: Resource.Name) -> Int {
    if let index = resourceIndexes[name] { return index }
    let index = freeResources.popLast() ?? resources.count
    if index == resources.count { resources.append(Resource(name)) } else { resources[index] = Resource(name) }
    resourceIndexes[name] = index
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
    resources[index].rate = limit.rate.map { resources[index].rate?.with($0) ?? RateLimiter($0) }
    return index
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
