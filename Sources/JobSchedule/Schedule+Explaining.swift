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
    /// No host that has what it needs has a free worker.
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
      let places = placesBefore(job)
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

  private func placesBefore(_ job: ScheduledJob) -> Int {
    jobs.count { other in
      guard let other, other.state == .available else { return false }
      return (other.order, other.sequence) < (job.order, job.sequence)
    }
  }

  /// A queue, a type or everything, as the status API shows it.
  package struct ResourceView: Sendable {
    package let name: Resource.Name
    package let isPaused: Bool
    package let concurrent: Int?
    package let running: Int
    package let counts: [JobState: Int]
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

  /// The unfinished jobs of a queue, a type, a batch and some states, in the order of their arrival.
  ///
  /// - Parameters:
  ///   - queue: their queue; nil for any.
  ///   - type: their type; nil for any.
  ///   - batch: their batch; nil for any.
  ///   - states: their states; empty for any.
  package func jobs(
    inQueue queue: String?, ofType type: String?, ofBatch batch: String?, in states: Set<JobState>
  ) -> [ScheduledJob] {
    let queue = queue.map { resourceIndexes[.queue($0)] }
    let type = type.map { resourceIndexes[.type($0)] }
    let batch = batch.map { batchIndexes[$0] }
    // No job has an unknown name.
    if queue == .some(nil) || type == .some(nil) || batch == .some(nil) { return [] }
    var found: [ScheduledJob] = []
    for job in jobs {
      guard let job, !job.state.isFinal else { continue }
      let resources = lanes[Int(job.lane)].resources
      if let queue, resources[1] != queue { continue }
      if let type, resources[2] != type { continue }
      if let batch, Int(job.batch) != batch { continue }
      if !states.isEmpty, !states.contains(job.state) { continue }
      found.append(job)
    }
    return found.sorted { $0.sequence < $1.sequence }
  }
}
