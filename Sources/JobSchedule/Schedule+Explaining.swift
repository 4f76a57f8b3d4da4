package import Jobs
package import ObjectGraph

/// Explanations of why a job does not run.
extension Schedule {
  /// Something that keeps a job from running.
  package enum Obstacle: Sendable, Equatable {
    case held
    /// Until a moment on the wall clock, in milliseconds.
    case notBefore(Int64)
    /// For so many milliseconds, after a failed attempt.
    case backoff(Int64)
    case job(ManagedObjectID)
    case unknownJob(String)
    case batch(String, unfinished: Int)
    case paused(Resource.Name)
    case concurrency(Resource.Name, limit: Int)
    /// For so many milliseconds.
    case rate(Resource.Name, Int64)
    /// No host that has what it needs has a free worker; or a fault of this host holds its type.
    case place(Resource.Name)
    /// The number of jobs ahead of it.
    case queue(Int)
  }

  /// The obstacles that keep a job from running; empty for one that runs, is final, or is not here.
  ///
  /// Cost: a look at every job.
  package func obstacles(of id: ManagedObjectID, at now: Moment) -> [Obstacle] {
    guard let slot = slots[id], let job = jobs[slot] else { return [] }
    var obstacles: [Obstacle] = job.state == .held ? [.held] : []
    if job.blockers > 0 { obstacles += blockers(of: slot) }
    switch job.state {
    case .scheduled: obstacles.append(.notBefore(job.due))
    case .retryable: obstacles.append(.backoff(max(0, job.due - now.steady)))
    case .available:
      obstacles += fullResources(of: job, now)
      let places = placesBefore(job, isStopped: !obstacles.isEmpty, now)
      // A job that something keeps from running is not the next, though none is ahead of it.
      if places > 0 || obstacles.isEmpty { obstacles.append(.queue(places)) }
    default: break
    }
    return obstacles
  }

  private func blockers(of slot: Int) -> [Obstacle] {
    let sequence = jobs[slot]?.sequence
    let isWaiting = { (list: [Dependencies.Waiting]) in
      list.contains { $0.slot == slot && $0.sequence == sequence }
    }
    return dependencies.onJobs.filter { isWaiting($0.value) }.map { .job($0.key) }
      + dependencies.onNames.filter { isWaiting($0.value) }.map { .unknownJob($0.key) }
      + batches.filter { isWaiting($0.waiting) }.map { .batch($0.name, unfinished: $0.unfinished) }
  }

  private func fullResources(of job: ScheduledJob, _ now: Moment) -> [Obstacle] {
    lanes[Int(job.lane)].resources.compactMap { index in
      let resource = resources[index]
      if resource.isPaused { return .paused(resource.name) }
      if resource.isFull { return .place(resource.name) }
      if let limit = resource.concurrent, resource.running >= limit {
        return .concurrency(resource.name, limit: limit)
      }
      if let rate = resource.rate, rate.nextTime > now.steady {
        return .rate(resource.name, rate.nextTime - now.steady)
      }
      return nil
    }
  }

  /// The number of jobs that run before one: others may be kept from running themselves.
  ///
  /// - Parameter isStopped: true if something keeps the job from running; then those count that wait for the same.
  private func placesBefore(_ job: ScheduledJob, isStopped: Bool, _ now: Moment) -> Int {
    var areFree: [Int32: Bool] = [:]
    return jobs.reduce(into: 0) { count, other in
      guard let other, other.state == .available, (other.order, other.sequence) < (job.order, job.sequence) else {
        return
      }
      if isStopped {
        if other.lane == job.lane { count += 1 }
        return
      }
      let isFree = areFree[Int32(other.lane)] ?? fullResources(of: other, now).isEmpty
      areFree[Int32(other.lane)] = isFree
      if isFree { count += 1 }
    }
  }

  /// A queue, a type or everything, as the status API shows it.
  package struct ResourceView: Sendable, Equatable {
    package let name: Resource.Name
    package let isPaused: Bool
    package let concurrent: Int?
    package let running: Int
    package let counts: [JobState: Int]

    package init(
      name: Resource.Name, isPaused: Bool, concurrent: Int?, running: Int, counts: [JobState: Int]
    ) {
      self.name = name
      self.isPaused = isPaused
      self.concurrent = concurrent
      self.running = running
      self.counts = counts
    }
  }

  /// All queues, types and keys.
  package var resourceViews: [ResourceView] {
    resourceIndexes.values.map { index in
      let resource = resources[index]
      return ResourceView(
        name: resource.name, isPaused: resource.isPaused, concurrent: resource.concurrent,
        running: resource.running, counts: resource.counts.filter { $0.value > 0 })
    }
  }

  /// The part of a list that is told.
  package enum Page: Sendable, Equatable {
    /// The last arrivals, the last first, without some of them.
    case newest(offset: Int, limit: Int)
    /// Those whose keys follow a key, in the order of their keys; all can be read page by page while they change.
    case following(Int64, limit: Int)

    fileprivate var offset: Int { if case .newest(let offset, _) = self { offset } else { 0 } }

    /// The number of jobs up to its end.
    fileprivate var reach: Int {
      switch self {
      case .newest(let offset, let limit): offset + limit
      case .following(_, let limit): limit
      }
    }

    /// The higher, the sooner a job is told; nil if it is not told.
    fileprivate func rank(of job: ScheduledJob) -> Int64? {
      switch self {
      case .newest: Int64(job.sequence)
      case .following(let key, _): job.id.key > key ? -job.id.key : nil
      }
    }
  }

  /// The number of unfinished jobs of a queue or a type in some states, which is kept; nil where it would have to be
  /// counted.
  package func keptCount(
    inQueue queue: String?, ofType type: String?, ofBatch batch: String?, in states: Set<JobState>
  ) -> Int? {
    let name: Resource.Name
    switch (queue, type, batch) {
    case (nil, nil, nil): name = .everything
    case (let queue?, nil, nil): name = .queue(queue)
    case (nil, let type?, nil): name = .type(type)
    default: return nil
    }
    guard let index = resourceIndexes[name] else { return 0 }
    return resources[index].counts.reduce(0) { sum, entry in
      let isAsked = !entry.key.isFinal && (states.isEmpty || states.contains(entry.key))
      return isAsked ? sum + entry.value : sum
    }
  }

  /// The unfinished jobs of a queue, a type, a batch and some states: a page of them, and how many there are.
  ///
  /// Cost: a look at every job.
  /// - Parameters:
  ///   - queue: their queue; nil for any.
  ///   - type: their type; nil for any.
  ///   - batch: their batch; nil for any.
  ///   - states: their states; empty for any.
  package func jobs(
    inQueue queue: String?, ofType type: String?, ofBatch batch: String?, in states: Set<JobState>, page: Page
  ) -> (jobs: [ScheduledJob], total: Int) {
    let queue = queue.map { resourceIndexes[.queue($0)] }
    let type = type.map { resourceIndexes[.type($0)] }
    let batch = batch.map { batchIndexes[$0] }
    // No job has an unknown name.
    if queue == .some(nil) || type == .some(nil) || batch == .some(nil) { return ([], 0) }
    var total = 0
    var told = Heap<RankedSlot>()
    let reach = page.reach
    // Later arrivals have higher slots, mostly, so that few are told and then pushed out by others.
    let isNewest = if case .newest = page { true } else { false }
    let order =
      isNewest ? stride(from: jobs.count - 1, to: -1, by: -1) : stride(from: 0, to: jobs.count, by: 1)
    for slot in order {
      guard let job = jobs[slot], !job.state.isFinal else { continue }
      let resources = lanes[Int(job.lane)].resources
      if let queue, resources[1] != queue { continue }
      if let type, resources[2] != type { continue }
      if let batch, Int(job.batch) != batch { continue }
      if !states.isEmpty, !states.contains(job.state) { continue }
      total += 1
      guard let rank = page.rank(of: job) else { continue }
      if told.count == reach, let last = told.first {
        if rank <= last.rank { continue }
        told.pop()
      }
      if reach > 0 { told.push(RankedSlot(rank: rank, slot: slot)) }
    }
    let sorted = told.elements.sorted().reversed().dropFirst(page.offset)
    return (sorted.compactMap { jobs[$0.slot] }, total)
  }
}

/// A job among those of a page.
private struct RankedSlot: Comparable {
  let rank: Int64
  let slot: Int

  static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}
