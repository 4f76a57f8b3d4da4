import Jobs
package import ObjectGraph

/// The choice of the next job.
extension Schedule {
  /// Puts an available job into its lane, as one that has been ready since a time on the steady clock.
  mutating func makeReady(_ slot: Int, since time: Int64) {
    guard let job = jobs[slot] else { return }
    jobs[slot]?.order = time - Int64(job.priority) * agingStep
    noteReady(job, since: time)
    queue(slot)
  }

  private mutating func queue(_ slot: Int) {
    guard let job = jobs[slot] else { return }
    let turn = JobTurn(order: job.order, sequence: job.sequence, slot: slot)
    let lane = Int(job.lane)
    if lanes[lane].jobs.count > 2 * count + 1_000 {
      lanes[lane].jobs.keep { jobs[$0.slot].map($0.isCurrent) ?? false }
    }
    let isFirst = lanes[lane].jobs.first.map { turn < $0 } ?? true
    lanes[lane].jobs.push(turn)
    if isFirst { show(lane, turn) }
  }

  /// Puts a lane where its first job makes it found.
  private mutating func show(_ lane: Int, _ turn: JobTurn) {
    let turn = LaneTurn(job: turn, lane: lane)
    switch lanes[lane].place {
    case .open: openLanes.push(turn)
    case .parked(let resource): resources[resource].parked.push(turn)
    }
  }

  /// Starts the next job; nil if there is none whose limits have room.
  package mutating func next(at now: Moment) -> ScheduledJob? {
    while let turn = openLanes.pop() {
      guard lanes[turn.lane].place == .open else { continue }
      guard let first = firstJob(of: turn.lane) else {
        promoteAll(of: turn.lane, at: now)
        continue
      }
      // Other jobs of the lane may have come or gone since; each first job has an entry of its own.
      if first != turn.job { continue }
      if let full = fullResource(of: turn.lane, at: now) {
        park(turn, with: full, at: now)
        continue
      }
      lanes[turn.lane].jobs.pop()
      start(first.slot, at: now)
      if let next = firstJob(of: turn.lane) { openLanes.push(LaneTurn(job: next, lane: turn.lane)) }
      promoteAll(of: turn.lane, at: now)
      return jobs[first.slot]
    }
    return nil
  }

  /// True if a job waits for room at a place, and for nothing else.
  package mutating func isAwaited(_ place: String) -> Bool {
    guard let resource = resourceIndexes[.place(place)] else { return false }
    while let turn = resources[resource].parked.first {
      let isHere = lanes[turn.lane].place == .parked(resource)
      if isHere, firstJob(of: turn.lane) != nil { return true }
      resources[resource].parked.pop()
      // Nobody would open it otherwise.
      if isHere { lanes[turn.lane].place = .open }
    }
    return false
  }

  private mutating func start(_ slot: Int, at now: Moment) {
    apply(.started, to: slot)
    occupy(slot)
    guard let job = jobs[slot] else { return }
    for resource in lanes[Int(job.lane)].resources { resources[resource].rate?.noteStart(at: now.steady) }
  }

  /// Counts a job among those that run.
  mutating func occupy(_ slot: Int) {
    guard let job = jobs[slot] else { return }
    for resource in lanes[Int(job.lane)].resources { resources[resource].running += 1 }
  }

  /// Returns what a running job occupied.
  mutating func vacate(_ slot: Int, at now: Moment) {
    guard let job = jobs[slot] else { return }
    for resource in lanes[Int(job.lane)].resources {
      resources[resource].running -= 1
      promote(resource, at: now)
    }
  }

  /// The first job of a lane, after dropping those that left it by another way.
  private mutating func firstJob(of lane: Int) -> JobTurn? {
    var hasDropped = false
    while let turn = lanes[lane].jobs.first {
      if let job = jobs[turn.slot], turn.isCurrent(job) {
        if hasDropped { show(lane, turn) }
        return turn
      }
      lanes[lane].jobs.pop()
      hasDropped = true
    }
    return nil
  }

  private func fullResource(of lane: Int, at now: Moment) -> Int? {
    lanes[lane].resources.first { !resources[$0].hasRoom(at: now.steady) }
  }

  /// Parks a lane with a resource. It may have been opened for the room of another, which the next lane gets.
  private mutating func park(_ turn: LaneTurn, with resource: Int, at now: Moment) {
    lanes[turn.lane].place = .parked(resource)
    resources[resource].parked.push(turn)
    armIfRated(resource)
    promoteAll(of: turn.lane, at: now)
  }

  /// Opens other lanes for the room that this one leaves.
  private mutating func promoteAll(of lane: Int, at now: Moment) {
    for resource in lanes[lane].resources { promote(resource, at: now) }
  }

  /// Opens the first lane parked with a resource, if that has room; it opens the next one in turn.
  mutating func promote(_ resource: Int, at now: Moment) {
    while !resources[resource].parked.isEmpty {
      guard resources[resource].hasRoom(at: now.steady) else { return armIfRated(resource) }
      guard let turn = resources[resource].parked.pop() else { return }
      guard lanes[turn.lane].place == .parked(resource) else { continue }
      lanes[turn.lane].place = .open
      guard let first = firstJob(of: turn.lane) else { continue }
      if let other = fullResource(of: turn.lane, at: now) {
        lanes[turn.lane].place = .parked(other)
        resources[other].parked.push(LaneTurn(job: first, lane: turn.lane))
        armIfRated(other)
        continue
      }
      openLanes.push(LaneTurn(job: first, lane: turn.lane))
      return
    }
  }

  /// The rates for which a job's start counts, with their periods in milliseconds.
  package func rates(of id: ManagedObjectID) -> [(name: Resource.Name, period: Int64)] {
    guard let lane = job(id)?.lane else { return [] }
    return lanes[Int(lane)].resources.compactMap { index in
      resources[index].rate.map { (resources[index].name, $0.period) }
    }
  }

  /// Arms an alarm for a resource's next start by its rate, if nothing else keeps it from having room.
  private mutating func armIfRated(_ resource: Int) {
    if let rate = resources[resource].rate, resources[resource].waitsForTime {
      arm(resource: resource, at: rate.nextTime)
    }
  }
}
