import Jobs
import ObjectGraph
import ObjectModel
import Testing

@testable import JobSchedule

@Suite("What operators do to a schedule, and see of it")
struct ScheduleControlTests {
  private var test = TestSchedule()

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
    earlier.readyTime = test.now.wall - 600_000
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

  @Test("Of the jobs before one those count that can run, or that wait for the same")
  mutating func jobsBefore() {
    test.schedule.setPaused(true, .queue("slow"), at: test.now)
    let stuck = (0..<3).map { index in test.add("stuck\(index)") { $0.queue = "slow" } }
    let free = (0..<2).map { test.add("free\($0)") }
    #expect(test.schedule.obstacles(of: free[0], at: test.now) == [.queue(0)])
    #expect(test.schedule.obstacles(of: free[1], at: test.now) == [.queue(1)])
    #expect(test.schedule.obstacles(of: stuck[2], at: test.now) == [.paused(.queue("slow")), .queue(2)])
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
