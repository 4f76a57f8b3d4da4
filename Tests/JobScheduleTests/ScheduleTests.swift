import Jobs
import ObjectGraph
import ObjectModel
import Testing

@testable import JobSchedule

/// A schedule with a clock that the test moves.
struct TestSchedule {
  var schedule = Schedule(agingStep: 60_000)
  var now = Moment(steady: 1_000, wall: 1_000_000_000_000)
  private var nextKey: Int64 = 1

  mutating func add(
    _ name: String, _ blockers: [NewJob.Blocker] = [], needs: [ManagedObjectID]? = nil,
    _ change: (inout JobSpecification) -> Void = { _ in }
  ) -> ManagedObjectID {
    var specification = JobSpecification(type: "noop", id: name)
    change(&specification)
    let id = ManagedObjectID(key: nextKey, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    nextKey += 1
    let needs = needs ?? blockers.compactMap { if case .job(let id) = $0.subject { id } else { nil } }
    schedule.add(
      NewJob(id: id, file: nil, specification: specification, name: name, blockers: blockers, needs: needs), at: now)
    return id
  }

  mutating func next() -> ManagedObjectID? { schedule.next(at: now)?.id }

  mutating func all() -> [ManagedObjectID] {
    var ids: [ManagedObjectID] = []
    while let id = next() { ids.append(id) }
    return ids
  }

  /// Ends an attempt and forgets the job if it is over.
  @discardableResult
  mutating func end(_ id: ManagedObjectID, _ event: JobEvent = .succeeded, delay: Int64 = 0) -> [ManagedObjectID] {
    let lost = schedule.endAttempt(of: id, event, delay: delay, at: now)
    if schedule.state(of: id)?.isFinal == true { schedule.remove(id, at: now) }
    return lost
  }

  /// Cancels a job, and tells those who wait for it; nil if it can't be cancelled.
  @discardableResult
  mutating func cancel(_ id: ManagedObjectID) -> [ManagedObjectID]? {
    guard schedule.cancel(id) else { return nil }
    let lost = schedule.finish(id, as: .cancelled, at: now)
    schedule.remove(id, at: now)
    return lost
  }

  mutating func wait(_ milliseconds: Int64) {
    now = Moment(steady: now.steady + milliseconds, wall: now.wall + milliseconds)
    _ = schedule.advance(to: now)
  }
}

@Suite("The schedule")
struct ScheduleTests {
  private var test = TestSchedule()

  @Test("Jobs run by priority, then in the order of their arrival")
  mutating func order() {
    let jobs = [0, 5, 0, -5, 5].map { priority in test.add("\(priority)") { $0.priority = priority } }
    #expect(test.all() == [jobs[1], jobs[4], jobs[0], jobs[2], jobs[3]])
  }

  @Test("A job of low priority goes before a new one of higher priority once it has waited long enough")
  mutating func aging() {
    let low = test.add("low") { $0.priority = -1 }
    test.wait(59_000)
    let early = test.add("early")
    test.wait(2_000)
    let late = test.add("late")
    #expect(test.all() == [early, low, late])
  }

  @Test("A queue runs as many as it may, and others go on")
  mutating func concurrency() {
    test.schedule.setLimits(.queue("slow"), concurrent: 1, rate: nil, at: test.now)
    let slow = (0..<3).map { number in test.add("s\(number)") { $0.queue = "slow" } }
    let other = test.add("other")
    #expect(test.all() == [slow[0], other])
    test.end(slow[0])
    #expect(test.all() == [slow[1]])
    test.schedule.setLimits(.queue("slow"), concurrent: 2, rate: nil, at: test.now)
    #expect(test.all() == [slow[2]])
  }

  @Test("Jobs of one key share its limit across queues, and a key that nobody names any more is forgotten")
  mutating func keys() {
    let limit = JobLimit(key: "tenant", concurrent: 2)
    let jobs = (0..<5).map { number in
      test.add("\(number)") {
        $0.limit = limit
        $0.queue = number % 2 == 0 ? "even" : "odd"
      }
    }
    #expect(test.all() == [jobs[0], jobs[1]])
    test.end(jobs[1])
    #expect(test.all() == [jobs[2]])
    for (job, next) in [(jobs[0], jobs[3]), (jobs[2], jobs[4])] {
      test.end(job)
      #expect(test.all() == [next])
    }
    test.end(jobs[3])
    test.end(jobs[4])
    #expect(test.schedule.resourceIndexes[.key("tenant")] == nil)
  }

  @Test("Queues and types that nobody names any more are forgotten, but not what an operator said of them")
  mutating func names() {
    for number in 0..<100 {
      let id = test.add("\(number)") { $0.queue = "tenant-\(number)" }
      #expect(test.all() == [id])
      test.end(id)
    }
    #expect(test.schedule.resourceIndexes.count == 1 && test.schedule.resources.count <= 4)
    #expect(test.schedule.lanes.count == 1)
    test.schedule.setPaused(true, .queue("paused"), at: test.now)
    test.schedule.setLimits(.type("noop"), concurrent: 1, rate: nil, at: test.now)
    let (first, second) = (test.add("a") { $0.queue = "a" }, test.add("b") { $0.queue = "b" })
    for id in [first, second] {
      #expect(test.all() == [id])
      test.end(id)
    }
    let type = test.schedule.resource(.type("noop"))
    #expect(test.schedule.resources[type].lanes.isEmpty, "lanes go with their queues")
    #expect(Set(test.schedule.resourceIndexes.keys) == [.everything, .queue("paused"), .type("noop")])
    test.schedule.setPaused(false, .queue("paused"), at: test.now)
    #expect(test.schedule.resourceIndexes[.queue("paused")] == nil)
  }

  @Test("Long timeouts of finished attempts, and turns of cancelled jobs, do not pile up")
  mutating func leftovers() {
    for number in 0..<5_000 {
      let id = test.add("\(number)")
      #expect(test.next() == id)
      test.schedule.attempts[id] = 1
      test.schedule.arm(timeoutOf: id, at: test.now.steady + 3_600_000)
      test.end(id)
    }
    #expect(test.schedule.alarms.count < 2_000)
    #expect(test.schedule.attempts.isEmpty)
    test.schedule.setPaused(true, .everything, at: test.now)
    for number in 0..<5_000 {
      let id = test.add("c\(number)")
      test.cancel(id)
    }
    #expect(test.schedule.lanes.allSatisfy { $0.jobs.count < 2_000 })
  }

  @Test("A rate lets no more start in any span of its period, and all of them at once if they wait")
  mutating func rate() {
    let jobs = (0..<6).map { number in
      test.add("\(number)") { $0.limit = JobLimit(key: "host", rate: JobLimit.Rate(2, per: .seconds(10))) }
    }
    #expect(test.next() == jobs[0])
    test.wait(4_000)
    #expect(test.all() == [jobs[1]])
    for job in jobs[..<2] { test.end(job) }
    #expect(test.schedule.alarms.next.steady == test.now.steady + 6_000)
    test.wait(5_999)
    #expect(test.all() == [])
    test.wait(1)
    #expect(test.all() == [jobs[2]])
    test.wait(4_000)
    #expect(test.all() == [jobs[3]])
    test.wait(20_000)
    #expect(test.all() == [jobs[4], jobs[5]])
  }

  @Test("Whoever waits behind entries that are no longer true is called nevertheless")
  mutating func staleEntries() {
    test.schedule.setLimits(.queue("q"), concurrent: 1, rate: nil, at: test.now)
    func job(_ type: String, _ priority: Int = 0) -> (inout JobSpecification) -> Void {
      { ($0.queue, $0.type, $0.priority) = ("q", type, priority) }
    }
    var running = test.add("x", [], job("a"))
    #expect(test.all() == [running])
    let first = test.add("a1", [], job("a"))
    #expect(test.all() == [])
    // Its lane waits by another job now, and the entry of the one before is still there.
    let urgent = test.add("a2", [], job("a", 1))
    let other = test.add("b", [], job("b"))
    #expect(test.all() == [])
    for next in [urgent, first, other] {
      test.end(running)
      #expect(test.all() == [next])
      running = next
    }
  }

  @Test("A job that gets room in its queue waits for its key's rate then, and is called when that lets it through")
  mutating func roomThenRate() {
    let limit = JobLimit(key: "host", rate: JobLimit.Rate(1, per: .seconds(10)))
    test.schedule.setLimits(.queue("q"), concurrent: 1, rate: nil, at: test.now)
    let spent = test.add("spent") { $0.limit = limit }
    let running = test.add("running") { $0.queue = "q" }
    #expect(test.all() == [spent, running])
    let waiting = test.add("waiting") { ($0.queue, $0.limit) = ("q", limit) }
    #expect(test.all() == [])
    test.end(running)
    #expect(test.all() == [])
    test.wait(10_000)
    #expect(test.all() == [waiting])
  }

  @Test("A rate that is changed remembers what it has let through")
  mutating func changedRate() {
    let jobs = (0..<4).map { test.add("\($0)") }
    test.schedule.setLimits(.queue("default"), concurrent: nil, rate: .init(1, per: .seconds(10)), at: test.now)
    #expect(test.all() == [jobs[0]])
    test.wait(4_000)
    test.schedule.setLimits(.queue("default"), concurrent: nil, rate: .init(2, per: .seconds(10)), at: test.now)
    #expect(test.all() == [jobs[1]])
    test.wait(6_000)
    #expect(test.all() == [jobs[2]])
  }

  @Test("A rate is remembered until it has no effect any more, and its key is forgotten then")
  mutating func rememberedRate() {
    let limit = JobLimit(key: "host", rate: JobLimit.Rate(1, per: .seconds(10)))
    let first = test.add("1") { $0.limit = limit }
    #expect(test.all() == [first])
    test.end(first)
    let second = test.add("2") { $0.limit = limit }
    #expect(test.all() == [])
    test.wait(10_000)
    #expect(test.all() == [second])
    test.end(second)
    test.wait(20_000)
    #expect(test.schedule.resourceIndexes[.key("host")] == nil)
  }

  @Test("A paused queue, type or everything starts nothing, and goes on in its order")
  mutating func paused() {
    for name in [Resource.Name.queue("default"), .type("noop"), .everything] {
      test.schedule.setPaused(true, name, at: test.now)
      let jobs = (0..<3).map { test.add("\(name) \($0)") }
      #expect(test.all() == [])
      test.schedule.setPaused(false, name, at: test.now)
      #expect(test.all() == jobs)
      for job in jobs { test.end(job) }
    }
  }

  @Test("A look at who waits for a full place, while all who did are held, shuts nobody out")
  func awaitedPlace() {
    var test = TestSchedule()
    test.schedule.setRoom(false, at: "site", now: test.now)
    let id = ManagedObjectID(key: 1, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    let specification = JobSpecification(type: "noop", id: "job")
    test.schedule.add(NewJob(id: id, file: nil, specification: specification, name: "job", place: "site"), at: test.now)
    let early = test.next()
    let isAwaited = test.schedule.isAwaited("site")
    let isHeld = test.schedule.hold(id)
    #expect(early == nil && isAwaited && isHeld)
    let isStillAwaited = test.schedule.isAwaited("site")
    #expect(!isStillAwaited)
    test.schedule.setRoom(true, at: "site", now: test.now)
    _ = test.schedule.resume(id, at: test.now)
    let next = test.next()
    #expect(next == id)
  }

  @Test("A job waits for its moment, by the clock that an operator may set")
  mutating func notBefore() {
    let wall = Double(test.now.wall) / 1000
    let job = test.add("later") { $0.notBefore = .init(timeIntervalSince1970: wall + 60) }
    #expect(test.schedule.state(of: job) == .scheduled)
    test.now = Moment(steady: test.now.steady + 100_000, wall: test.now.wall + 59_000)
    _ = test.schedule.advance(to: test.now)
    #expect(test.all() == [])
    test.now = Moment(steady: test.now.steady, wall: test.now.wall + 1_000)
    _ = test.schedule.advance(to: test.now)
    #expect(test.all() == [job])
  }

  @Test("A failed attempt is followed by another after the delay, whatever the wall clock does")
  mutating func retry() {
    let job = test.add("fails")
    #expect(test.all() == [job])
    test.end(job, .failed, delay: 5_000)
    #expect(test.schedule.state(of: job) == .retryable)
    test.now = Moment(steady: test.now.steady + 4_999, wall: 0)
    _ = test.schedule.advance(to: test.now)
    #expect(test.all() == [])
    test.now = Moment(steady: test.now.steady + 1, wall: 0)
    _ = test.schedule.advance(to: test.now)
    #expect(test.all() == [job])
  }

  @Test("An attempt that takes too long is told of once, and a later attempt is not mistaken for it")
  mutating func timeout() {
    let job = test.add("slow")
    #expect(test.all() == [job])
    test.schedule.attempts[job] = 1
    test.schedule.arm(timeoutOf: job, at: test.now.steady + 1_000)
    test.end(job, .failed, delay: 100)
    test.wait(100)
    #expect(test.all() == [job])
    test.schedule.attempts[job] = 2
    test.now = Moment(steady: test.now.steady + 1_000, wall: test.now.wall)
    #expect(test.schedule.advance(to: test.now) == [])
    test.schedule.arm(timeoutOf: job, at: test.now.steady + 5)
    test.now = Moment(steady: test.now.steady + 5, wall: test.now.wall)
    #expect(test.schedule.advance(to: test.now) == [job])
  }

  @Test("A delay that an earlier run began goes on, by the steady clock")
  mutating func earlierDelay() {
    let id = ManagedObjectID(key: 1_000, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    var new = NewJob(id: id, file: nil, specification: JobSpecification(type: "noop"), name: "earlier")
    new.retryTime = test.now.wall + 5_000
    test.schedule.add(new, at: test.now)
    #expect(test.schedule.state(of: id) == .retryable)
    test.now = Moment(steady: test.now.steady + 4_999, wall: test.now.wall + 100_000)
    _ = test.schedule.advance(to: test.now)
    #expect(test.all() == [])
    test.wait(1)
    #expect(test.all() == [id])
  }

  @Test("A job that was held and released while it waited does not run before its new time, whatever was set before")
  mutating func newTime() {
    let job = test.add("fails")
    #expect(test.all() == [job])
    test.end(job, .failed, delay: 5_000)
    #expect(test.schedule.hold(job) == true)
    #expect(test.schedule.resume(job, at: test.now) == true)
    #expect(test.schedule.state(of: job) == .scheduled)
    // By the wall clock from now on, which somebody sets back.
    test.now = Moment(steady: test.now.steady + 5_000, wall: test.now.wall - 60_000)
    _ = test.schedule.advance(to: test.now)
    #expect(test.all() == [])
    test.wait(65_000)
    #expect(test.all() == [job])
  }

  @Test("A running job is neither cancelled nor held by the schedule alone")
  mutating func runningStays() {
    let job = test.add("running")
    #expect(test.all() == [job])
    #expect(test.schedule.cancel(job) == false)
    #expect(test.schedule.hold(job) == false)
    #expect(test.schedule.state(of: job) == .running)
  }

  @Test("A job held for want of a handler goes on when there is one, unless an operator has held it meanwhile")
  mutating func heldForHandler() {
    let jobs = (0..<2).map { test.add("\($0)") }
    #expect(test.all() == jobs)
    for job in jobs {
      test.end(job, .held)
      test.schedule.awaitingHandler.insert(job)
    }
    #expect(test.schedule.hold(jobs[0]) == true)
    test.schedule.resumeJobs(ofTypes: { $0 == "other" }, at: test.now)
    #expect(test.all() == [])
    test.schedule.resumeJobs(ofTypes: { $0 == "noop" }, at: test.now)
    #expect(test.all() == [jobs[1]])
    #expect(test.schedule.resume(jobs[0], at: test.now) == true)
    #expect(test.all() == [jobs[0]])
  }

  @Test("A held job does not run until it is released, and remembers what it waits for")
  mutating func held() {
    let first = test.add("first")
    let second = test.add("second", [NewJob.Blocker(subject: .job(first), mayFail: false)])
    #expect(test.schedule.hold(first) && test.schedule.hold(second))
    #expect(test.all() == [])
    #expect(test.schedule.resume(second, at: test.now) == true)
    #expect(test.schedule.state(of: second) == .waiting)
    #expect(test.schedule.resume(first, at: test.now) == true)
    #expect(test.all() == [first])
    test.end(first)
    #expect(test.all() == [second])
  }

  @Test("A new priority counts at once, and the time it has waited is kept")
  mutating func reprioritised() {
    let jobs = (0..<3).map { test.add("\($0)") }
    #expect(test.schedule.setPriority(1, of: jobs[2], at: test.now) == true)
    #expect(test.schedule.setPriority(-1, of: jobs[0], at: test.now) == true)
    #expect(test.all() == [jobs[2], jobs[1], jobs[0]])
  }

  @Test("A job that has waited long keeps that with a new priority, and one of an earlier run brings it along")
  mutating func waitedTime() {
    let old = test.add("old")
    // Ten steps of priority.
    test.wait(600_000)
    let urgent = test.add("urgent") { $0.priority = 5 }
    #expect(test.schedule.setPriority(-2, of: old, at: test.now) == true)
    #expect(test.all() == [old, urgent])
    let key = ManagedObjectID(key: 1_000, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    let newer = test.add("newer") { $0.priority = 5 }
    var earlier = NewJob(id: key, file: nil, specification: JobSpecification(type: "noop"), name: "earlier")
    earlier.age = 600_000
    test.schedule.add(earlier, at: test.now)
    #expect(test.all() == [key, newer])
  }

  @Test("A held job keeps the delay after its failed attempt, unless somebody wants it to run now")
  mutating func heldDelay() {
    let jobs = (0..<2).map { test.add("\($0)") }
    #expect(test.all() == jobs)
    for job in jobs { test.end(job, .failed, delay: 5_000) }
    #expect(test.schedule.hold(jobs[0]) && test.schedule.forgetTime(of: jobs[1]))
    for job in jobs { #expect(test.schedule.resume(job, at: test.now) == true) }
    #expect(test.schedule.state(of: jobs[0]) == .scheduled)
    #expect(test.all() == [jobs[1]])
    test.wait(5_000)
    #expect(test.all() == [jobs[0]])
  }

  @Test("A job that is not over is not forgotten, and what it occupies is given back at its end")
  mutating func removedTooEarly() {
    test.schedule.setLimits(.queue("default"), concurrent: 1, rate: nil, at: test.now)
    let jobs = (0..<2).map { test.add("\($0)") }
    #expect(test.all() == [jobs[0]])
    test.schedule.remove(jobs[0], at: test.now)
    test.end(jobs[0])
    #expect(test.all() == [jobs[1]])
  }

  @Test("Nobody else's reasons are told after a slot was used again")
  mutating func reasons() {
    let first = test.add("first", [NewJob.Blocker(subject: .name("ghost"), mayFail: false)])
    test.cancel(first)
    let second = test.add("second", [NewJob.Blocker(subject: .name("other"), mayFail: false)])
    #expect(test.schedule.obstacles(of: second, at: test.now) == [.unknownJob("other")])
  }

  @Test("A selection finds jobs of its queue, type, batch and states only")
  mutating func selection() {
    let image = test.add("i") { $0.type = "image" }
    let other = test.add("o") { $0.queue = "slow" }
    let batch = test.add("b") { $0.batch = "night" }
    let held = test.add("h")
    #expect(test.schedule.hold(held) == true)
    func found(
      queue: String? = nil, type: String? = nil, batch: String? = nil, states: Set<JobState> = []
    ) -> [ManagedObjectID] {
      test.schedule.jobs(
        inQueue: queue, ofType: type, ofBatch: batch, in: states, page: .following(.min, limit: 100)
      ).jobs.map(\.id)
    }
    #expect(found(type: "image") == [image])
    #expect(found(queue: "slow") == [other])
    #expect(found(batch: "night") == [batch])
    #expect(found(states: [.held]) == [held])
    #expect(found(states: [.held, .available]) == [image, other, batch, held])
    #expect(found(type: "noop", states: [.available]) == [other, batch])
    #expect(found(type: "unheard of") == [])
  }

  @Test("A list is told by pages, of the newest or by keys, with the number of all", arguments: 1...4)
  mutating func pages(limit: Int) {
    let jobs = (0..<9).map { test.add("job\($0)") }
    // Later ones take the slots of those that are gone.
    for job in jobs[2...4] { test.cancel(job) }
    let all = [jobs[0], jobs[1]] + jobs[5...] + [test.add("late"), test.add("last")]
    func page(_ page: Schedule.Page) -> [ManagedObjectID] {
      let (found, total) = test.schedule.jobs(inQueue: nil, ofType: nil, ofBatch: nil, in: [], page: page)
      #expect(total == all.count)
      return found.map(\.id)
    }
    for offset in 0...all.count {
      #expect(page(.newest(offset: offset, limit: limit)) == Array(all.reversed().dropFirst(offset).prefix(limit)))
    }
    var read: [ManagedObjectID] = []
    for _ in all { read += page(.following(read.last?.key ?? .min, limit: limit)) }
    #expect(read == all)
  }

  @Test("A suspended job does not run, and goes back to its place and its time")
  func suspension() throws {
    var test = TestSchedule()
    let retried = test.add("retried")
    #expect(test.next() == retried)
    test.end(retried, .failed, delay: 5_000)
    let first = test.add("first")
    test.wait(10)
    let second = test.add("second")
    let (one, other) = (test.schedule.suspend(first), test.schedule.suspend(retried))
    let suspensions = try [#require(one), #require(other)]
    test.wait(10)
    for suspension in suspensions { test.schedule.end(suspension, at: test.now) }
    #expect(test.schedule.state(of: retried) == .retryable)
    #expect(test.all() == [first, second])
    test.wait(5_000)
    #expect(test.next() == retried)
    let unknown = test.schedule.suspend(retried)
    #expect(unknown == nil, "it runs")
  }
}
