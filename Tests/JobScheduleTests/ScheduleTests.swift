import Jobs
import ObjectGraph
import ObjectModel
import Testing

@testable import JobSchedule

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

  @Test("A rate counts the starts of an earlier run, whether it is set before they are known or after")
  mutating func recalledRate() {
    let now = test.now.steady
    test.schedule.setLimits(.queue("default"), concurrent: nil, rate: .init(3, per: .seconds(10)), at: test.now)
    // Of four only the last three can matter.
    test.schedule.recall([
      .queue("default"): [now - 9_000, now - 8_000, now - 6_000, now - 1_000], .key("host"): [now - 4_000],
    ])
    let limit = JobLimit(key: "host", rate: JobLimit.Rate(1, per: .seconds(10)))
    let limited = test.add("limited") { $0.limit = limit }
    let others = (0..<2).map { test.add("\($0)") }
    #expect(test.all() == [])
    test.wait(2_000)
    #expect(test.all() == [others[0]])
    test.wait(2_000)
    #expect(test.all() == [others[1]])
    test.wait(5_000)
    #expect(test.all() == [limited])
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
}
