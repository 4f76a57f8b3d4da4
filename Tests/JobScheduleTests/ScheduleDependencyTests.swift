import Jobs
import ObjectGraph
import TestSupport
import Testing

@testable import JobSchedule

@Suite("Jobs that wait for others")
struct ScheduleDependencyTests {
  private var test = TestSchedule()

  private func blocker(_ id: ManagedObjectID, mayFail: Bool = false) -> NewJob.Blocker {
    NewJob.Blocker(subject: .job(id), mayFail: mayFail)
  }

  @Test("A job starts when all that it waits for are completed")
  mutating func completed() {
    let needed = (0..<3).map { test.add("n\($0)") }
    let last = test.add("last", needed.map { blocker($0) })
    #expect(test.schedule.state(of: last) == .waiting)
    #expect(test.all() == needed)
    for job in needed.dropLast() { #expect(test.end(job) == []) }
    #expect(test.all() == [])
    test.end(needed[2])
    #expect(test.all() == [last])
  }

  @Test("A job that nothing blocks any more waits for its time, if that has not come")
  mutating func early() {
    let needed = test.add("needed")
    let last = test.add("last", [blocker(needed)]) { [wall = test.now.wall] in
      $0.notBefore = .init(timeIntervalSince1970: Double(wall) / 1000 + 60)
    }
    #expect(test.schedule.state(of: last) == .waiting)
    #expect(test.all() == [needed])
    test.end(needed)
    #expect(test.schedule.state(of: last) == .scheduled)
    test.wait(59_999)
    #expect(test.all() == [])
    test.wait(1)
    #expect(test.all() == [last])
  }

  @Test("A job that comes held stays so, and waits for others when it is released")
  mutating func heldFirst() {
    let needed = test.add("needed")
    let id = ManagedObjectID(key: 1_000, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    var new = NewJob(id: id, file: nil, specification: JobSpecification(type: "noop"), name: "held")
    new.isHeld = true
    new.blockers = [blocker(needed)]
    test.schedule.add(new, at: test.now)
    #expect(test.schedule.state(of: id) == .held)
    #expect(test.schedule.resume(id, at: test.now) == true)
    #expect(test.schedule.state(of: id) == .waiting)
    #expect(test.all() == [needed])
    test.end(needed)
    #expect(test.all() == [id])
  }

  @Test("A batch that nobody knows, or of which nothing is left, is not waited for")
  mutating func unknownBatch() {
    let callbacks = [NewJob.Blocker(subject: .batch("none"), mayFail: true)]
    let first = test.add("first", callbacks)
    #expect(test.all() == [first])
    let member = test.add("member") { $0.batch = "none" }
    #expect(test.all() == [member])
    test.end(member)
    let second = test.add("second", callbacks)
    #expect(test.all() == [second])
  }

  @Test("A unique key is its job's until that is over, and nobody's then")
  mutating func uniqueKey() {
    let first = test.add("first") { $0.unique = "u" }
    #expect(test.schedule.uniqueOwners == ["u": first])
    #expect(test.all() == [first])
    test.end(first, .failed)
    #expect(test.schedule.uniqueOwners == ["u": first])
    test.wait(1)
    #expect(test.all() == [first])
    test.end(first, .gaveUp)
    #expect(test.schedule.uniqueOwners.isEmpty)
  }

  @Test("A job fails with what it needs, unless it accepts any end", arguments: [JobEvent.gaveUp, .cancelled])
  func failed(event: JobEvent) {
    var test = TestSchedule()
    let needed = test.add("needed")
    let strict = test.add("strict", [blocker(needed)])
    let lenient = test.add("lenient", [blocker(needed, mayFail: true)])
    #expect(test.all() == [needed])
    #expect(test.end(needed, event) == [strict])
    #expect(test.all() == [lenient])
  }

  @Test("A job waits on for one that is quarantined, and runs when that was put back and is completed")
  mutating func quarantined() {
    let needed = test.add("needed")
    let strict = test.add("strict", [blocker(needed)])
    #expect(test.all() == [needed])
    #expect(test.end(needed, .quarantined) == [])
    #expect(test.schedule.state(of: strict) == .waiting)
    test.schedule.add(
      NewJob(id: needed, file: nil, specification: JobSpecification(type: "noop"), name: "needed"), at: test.now)
    #expect(test.all() == [needed])
    test.end(needed)
    #expect(test.all() == [strict])
  }

  @Test("A job waits for one that is not known yet, under its name")
  mutating func unknown() {
    let waiting = test.add("waiting", [NewJob.Blocker(subject: .name("later"), mayFail: false)])
    #expect(test.all() == [])
    let later = test.add("later")
    #expect(test.all() == [later])
    test.end(later)
    #expect(test.all() == [waiting])
  }

  @Test("A circle over several files is found, however long")
  mutating func circle() {
    let first = test.add("first", [NewJob.Blocker(subject: .name("last"), mayFail: false)])
    let second = test.add("second", [blocker(first)])
    let third = test.add("third", [blocker(second)])
    #expect(test.schedule.closesCircle("last", [blocker(third)], batch: nil))
    #expect(!test.schedule.closesCircle("other", [blocker(third)], batch: nil))
    #expect(!test.schedule.closesCircle("last", [], batch: nil))
  }

  @Test("A circle through a batch and its callback is found")
  mutating func batchCircle() {
    let member = test.add("member", [NewJob.Blocker(subject: .name("last"), mayFail: false)]) { $0.batch = "b" }
    let callback = test.add("callback", [NewJob.Blocker(subject: .batch("b"), mayFail: true)])
    #expect(test.schedule.closesCircle("last", [blocker(callback)], batch: nil))
    #expect(test.schedule.closesCircle("last", [NewJob.Blocker(subject: .batch("b"), mayFail: true)], batch: nil))
    #expect(test.schedule.closesCircle("another member", [blocker(callback)], batch: "b"))
    #expect(!test.schedule.closesCircle("other", [blocker(member)], batch: nil))
  }

  @Test("A batch's callback runs when the last of the batch is over, in whatever way, and the batch is forgotten")
  mutating func batch() {
    let jobs = (0..<3).map { number in test.add("\(number)") { $0.batch = "b" } }
    let callback = test.add("callback", [NewJob.Blocker(subject: .batch("b"), mayFail: true)])
    #expect(test.all() == jobs)
    test.end(jobs[0], .gaveUp)
    test.end(jobs[1], .cancelled)
    #expect(test.all() == [])
    test.end(jobs[2])
    #expect(test.all() == [callback])
    #expect(test.schedule.batchIndexes.isEmpty)
  }

  @Test("A cancelled job takes those that need it along, one step at a time")
  mutating func cascade() {
    let first = test.add("first")
    let second = test.add("second", [blocker(first)])
    let third = test.add("third", [blocker(second)])
    let lost = [first, second, third, third].map { test.cancel($0) }
    #expect(lost == [[second], [third], [], nil])
    #expect(test.all() == [])
  }

  @Test("Nothing begins after a cancelled job before its end is on record")
  mutating func cancelledButNotSettled() {
    let first = test.add("first")
    let second = test.add("second", [blocker(first, mayFail: true)])
    let isCancelled = test.schedule.cancel(first)
    #expect(isCancelled)
    #expect(test.all() == [])
    let lost = test.schedule.finish(first, as: .cancelled, at: test.now)
    #expect(lost == [])
    #expect(test.all() == [second])
  }

  private static func randomJob(_ step: Int, using random: inout SeededGenerator) -> JobSpecification {
    var made = JobSpecification(type: "t\(Int.random(in: 0..<3, using: &random))")
    made.queue = "q\(Int.random(in: 0..<3, using: &random))"
    made.priority = Int.random(in: -100...100, using: &random)
    if Bool.random(using: &random) { made.limit = JobLimit(key: "k\(step % 4)", concurrent: 1) }
    if Bool.random(using: &random) { made.batch = "b\(step % 3)" }
    return made
  }

  @Test("A job that is replaced keeps those that wait for it, and nothing else")
  mutating func replaced() {
    let needed = test.add("needed")
    let job = test.add("job", [blocker(needed)]) {
      $0.batch = "old"
      $0.unique = "key"
    }
    let waiting = test.add("waiting", [blocker(job)])
    let callback = test.add("callback", [NewJob.Blocker(subject: .batch("old"), mayFail: true)])
    var new = JobSpecification(type: "other", id: "job", queue: "q")
    new.batch = "old"
    new.unique = "key"
    let same = test.schedule.replace(with: NewJob(id: job, file: nil, specification: new, name: "job"), at: test.now)
    #expect(same?.id == job)
    #expect(test.schedule.state(of: callback) == .waiting, "the batch has a job all the time")
    #expect(test.schedule.uniqueOwners == ["key": job])
    (new.batch, new.unique) = (nil, nil)
    _ = test.schedule.replace(with: NewJob(id: job, file: nil, specification: new, name: "job"), at: test.now)
    #expect(test.schedule.uniqueOwners.isEmpty && test.schedule.dependencies.needed.elementsEqual([job]))
    #expect(test.all() == [needed, callback, job], "it comes anew")
    #expect(
      test.schedule.replace(with: NewJob(id: job, file: nil, specification: new, name: "job"), at: test.now) == nil)
    #expect(test.schedule.state(of: job) == .running, "nothing takes the place of one that runs")
    #expect(test.end(needed) == [])
    #expect(test.all() == [])
    test.end(job)
    #expect(test.all() == [waiting])
    #expect(test.schedule.contradictions == [])
  }

  /// Every job ends once, limits are never exceeded and nothing is left over, whatever happens in which order.
  @Test("Random histories end with every job over and every limit kept", arguments: 0..<20)
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var test = TestSchedule()
    test.schedule.setLimits(.queue("q1"), concurrent: 2, rate: nil, at: test.now)
    var ids: [ManagedObjectID] = []
    var running: [ManagedObjectID: JobSpecification] = [:]
    var specifications: [ManagedObjectID: JobSpecification] = [:]
    for step in 0..<2_000 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0...2 where step < 1_200:
        let made = Self.randomJob(step, using: &random)
        let needed = ids.suffix(3).filter { test.schedule.state(of: $0)?.isFinal == false }
        let id = test.add("\(step)", needed.map { blocker($0, mayFail: true) }) { $0 = made }
        ids.append(id)
        specifications[id] = made
      case 3...5:
        if let id = test.next() { running[id] = specifications[id] }
      case 6...7:
        guard let id = running.keys.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else { continue }
        running[id] = nil
        test.end(id, [.succeeded, .failed, .gaveUp, .interrupted].randomElement(using: &random)!, delay: 50)
      case 8:
        guard let id = ids.randomElement(using: &random), running[id] == nil else { continue }
        if !test.schedule.hold(id) { _ = test.schedule.resume(id, at: test.now) }
      case 9:
        if let id = ids.randomElement(using: &random), running[id] == nil { test.cancel(id) }
      case 10:
        guard let place = ids.indices.randomElement(using: &random), running[ids[place]] == nil,
          test.schedule.contains(ids[place])
        else { continue }
        let made = Self.randomJob(step, using: &random)
        // Of those before it alone, so that no circle comes.
        let needed = ids[..<place].suffix(2).filter { test.schedule.state(of: $0)?.isFinal == false }
        #expect(
          test.schedule.replace(
            with: NewJob(
              id: ids[place], file: nil, specification: made, name: "\(place)",
              blockers: needed.map { blocker($0, mayFail: true) }, needs: needed), at: test.now) != nil)
        specifications[ids[place]] = made
      default: test.wait(Int64.random(in: 0..<100, using: &random))
      }
      #expect(running.values.count { $0.queue == "q1" } <= 2)
      for key in 0..<4 { #expect(running.values.count { $0.limit?.key == "k\(key)" } <= 1) }
      if step % 10 == 0 { #expect(test.schedule.contradictions == []) }
    }
    for id in ids { _ = test.schedule.resume(id, at: test.now) }
    var rounds = 0
    while test.schedule.count > 0 && rounds < 10_000 {
      rounds += 1
      for id in running.keys { test.end(id) }
      running = [:]
      for id in test.all() { running[id] = specifications[id] }
      test.wait(100)
    }
    #expect(test.schedule.count == 0)
    #expect(test.schedule.counts.values.allSatisfy { $0 == 0 })
    #expect(test.schedule.contradictions == [])
    #expect(Set(test.schedule.resourceIndexes.keys) == [.everything, .queue("q1")], "nothing unconfigured is left")
    #expect(test.schedule.dependencies.needed.isEmpty)
  }

  @Test("The records of jobs that an unfinished job names are needed until it is over, also of those that came later")
  mutating func needed() {
    let over = test.add("over")
    let strict = test.add("strict", [NewJob.Blocker(subject: .name("later"), mayFail: false)], needs: [over])
    let later = test.add("later")
    #expect(Set(test.schedule.dependencies.needed) == [over, later])
    #expect(test.all() == [over, later])
    test.end(over)
    test.end(later)
    #expect(Set(test.schedule.dependencies.needed) == [over, later], "a restart looks for both again")
    #expect(test.all() == [strict])
    let second = test.add("second", needs: [over])
    test.end(strict)
    #expect(Set(test.schedule.dependencies.needed) == [over], "another one names it still")
    test.cancel(second)
    #expect(test.schedule.dependencies.needed.isEmpty)
  }

  @Test("Entries of jobs that were cancelled while they waited do not pile up")
  mutating func cancelledWaiters() {
    for number in 0..<3_000 {
      let id = test.add("\(number)", [NewJob.Blocker(subject: .name("never"), mayFail: false)])
      test.cancel(id)
    }
    #expect((test.schedule.dependencies.onNames["never"]?.count ?? 0) < 1_500)
  }
}
