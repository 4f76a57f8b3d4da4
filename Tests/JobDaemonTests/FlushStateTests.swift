import Configuration
import JobSchedule
import ObjectGraph
import Synchronization
import Testing

@testable import JobDaemon

@Suite("The states of the flusher")
struct FlushStateTests {
  /// A machine with its clock, what it reported and what it answered.
  private final class Machine {
    var state: FlushState
    /// The actions that were asked for, as words.
    var actions: [String] = []
    private let answers = Answers()
    var now = ContinuousClock.now

    init(
      _ settings: String = "FlushIntervalSec=2\nHighWaterObjects=10\nHighWaterBytes=64K",
      everyJobIsAwaited: Bool = false
    ) throws {
      state = FlushState(
        configuration: try WriterFixture.settings(settings), everyJobIsAwaited: everyJobIsAwaited)
    }

    /// Carries actions out, and notes them.
    func perform(_ event: (inout FlushState) -> [FlushState.Action]) {
      for action in event(&state) {
        switch action {
        case .startFlush: actions.append("flush")
        case .arm(let delay): actions.append("arm \(delay / .milliseconds(1)) ms")
        case .disarm: actions.append("disarm")
        case .report(.durable(let jobs)): actions.append("durable \(jobs.map(\.id).joined(separator: " "))")
        case .report(.storeUnwritable): actions.append("unwritable")
        case .report(.storeWritable): actions.append("writable")
        case .report(.storeFailed): actions.append("failed")
        // After every flush that has succeeded.
        case .report(.flushed): break
        case .report: actions.append("other report")
        case .answer(let waiters, let answer): for waiter in waiters { waiter.call(answer) }
        }
      }
    }

    func merge(_ ids: String..., objects: Int = 1, isAwaited: Bool = false) {
      perform {
        $0.noteMerged(ids.map(FlushStateTests.job), size: (objects, objects * 10), isAwaited: isAwaited, at: now)
      }
    }

    func wait(for wait: FlushState.Wait, as name: String, objects: Int = 0) {
      let waiter = FlushState.Waiter { [answers] answer in answers.append("\(name) \(answer)") }
      perform { $0.add(waiter, for: wait, size: (objects, objects * 10)) }
    }

    /// Returns the actions and answers since the last call.
    func drain() -> [String] {
      defer { actions = [] }
      return actions + answers.drain()
    }

    func begin() { state.begin(at: now) }
    func succeed() { perform { $0.succeed(at: now) } }
    func postpone() { perform { $0.postpone(because: StoreError(.full, "no room")) } }
    func fail() { perform { $0.fail(because: StoreError(.inputOutput, "broken")) } }
  }

  /// The answers to waits, in order.
  private final class Answers: Sendable {
    private let list = Mutex<[String]>([])

    func append(_ answer: String) { list.withLock { $0.append(answer) } }

    func drain() -> [String] {
      list.withLock { list in
        defer { list = [] }
        return list
      }
    }
  }

  private static func job(_ id: String) -> FinishedJob {
    FinishedJob(
      objectID: ManagedObjectID(key: 1, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0), id: id,
      type: "noop", state: .completed, failure: nil, file: nil)
  }

  @Test("What is merged first arms the timer, and the timer starts the flush")
  func interval() throws {
    let machine = try Machine()
    machine.merge("a")
    #expect(machine.drain() == ["arm 2000.0 ms"])
    machine.merge("b", objects: 2)
    #expect(machine.drain() == [])
    #expect(machine.state.phase == .waiting)
    machine.perform { $0.timerFired() }
    #expect(machine.drain() == ["disarm", "flush"])
    machine.begin()
    machine.now += .milliseconds(7)
    machine.succeed()
    #expect(machine.drain() == ["durable a b"])
    #expect(machine.state.phase == .idle)
    #expect(machine.state.statistics.flushes == 1)
    #expect(machine.state.statistics.lastDuration == .milliseconds(7))
  }

  @Test("Nothing that was merged arms nothing, and an alarm that comes too late starts nothing")
  func nothing() throws {
    let machine = try Machine()
    machine.merge(objects: 0)
    machine.perform { $0.timerFired() }
    #expect(machine.drain() == [])
    #expect(machine.state.phase == .idle)
  }

  @Test(
    "An awaited job, the high-water marks and each wait start the flush at once",
    arguments: ["awaited", "objects", "flush", "durable", "room", "limits"])
  func atOnce(_ reason: String) throws {
    let machine = try Machine()
    machine.merge("a")
    _ = machine.drain()
    switch reason {
    case "awaited": machine.merge("b", isAwaited: true)
    case "objects": machine.merge("b", objects: 10)
    case "flush": machine.wait(for: .flush, as: "w")
    case "durable": machine.wait(for: .durable, as: "w")
    case "room": machine.wait(for: .room, as: "w", objects: 20)
    default:
      let settings = try WriterFixture.settings("FlushIntervalSec=1")
      machine.perform { $0.reconfigure(settings) }
    }
    #expect(machine.drain() == ["disarm", "flush"])
  }

  @Test("A request during a flush is followed by another flush, which answers it")
  func again() throws {
    let machine = try Machine()
    machine.merge("a", isAwaited: true)
    machine.begin()
    machine.merge("b")
    machine.wait(for: .flush, as: "w")
    #expect(machine.drain() == ["disarm", "flush"])
    #expect(machine.state.phase == .flushing(again: true))
    machine.succeed()
    #expect(machine.drain() == ["durable a", "flush"])
    machine.begin()
    machine.succeed()
    #expect(machine.drain() == ["durable b", "w true"])
  }

  @Test("Where every job is awaited, the second of two flushes waits as long as the first took, at most 50 ms")
  func gathering() throws {
    let machine = try Machine(everyJobIsAwaited: true)
    machine.merge("a")
    machine.begin()
    machine.merge("b")
    machine.now += .milliseconds(7)
    machine.succeed()
    #expect(machine.drain() == ["disarm", "flush", "arm 7.0 ms", "durable a"])
    machine.merge("c")
    #expect(machine.drain() == [])
    machine.perform { $0.timerFired() }
    machine.begin()
    machine.merge("d")
    machine.now += .milliseconds(700)
    machine.succeed()
    #expect(machine.drain() == ["disarm", "flush", "arm 50.0 ms", "durable b c"])
    machine.perform { $0.timerFired() }
    machine.begin()
    machine.succeed()
    #expect(machine.drain() == ["disarm", "flush", "durable d"])
    #expect(machine.state.phase == .idle)
  }

  @Test(
    "A wait or the high-water mark ends the gathering at once, also if it came during the flush",
    arguments: [false, true])
  func gatheringEnds(_ isDuring: Bool) throws {
    for reason in ["objects", "flush", "durable"] {
      let machine = try Machine(everyJobIsAwaited: true)
      machine.merge("a")
      machine.begin()
      machine.merge("b")
      if !isDuring { machine.succeed() }
      _ = machine.drain()
      switch reason {
      case "objects": machine.merge("c", objects: 10)
      case "flush": machine.wait(for: .flush, as: "w")
      default: machine.wait(for: .durable, as: "w")
      }
      if isDuring {
        machine.succeed()
        #expect(machine.drain() == ["durable a", "flush"], "\(reason)")
      } else {
        #expect(machine.drain() == ["disarm", "flush"], "\(reason)")
      }
    }
  }

  @Test("What is merged between the request and the beginning belongs to the flush; later it waits for the next")
  func late() throws {
    let machine = try Machine()
    machine.merge("a", isAwaited: true)
    machine.merge("b")
    machine.begin()
    machine.merge("c")
    _ = machine.drain()
    machine.succeed()
    #expect(machine.drain() == ["arm 2000.0 ms", "durable a b"])
    #expect(machine.state.phase == .waiting)
  }

  @Test("While the store can't be written everything is kept, and the delay doubles up to five seconds")
  func unwritable() throws {
    let machine = try Machine()
    machine.merge("a", isAwaited: true)
    machine.wait(for: .flush, as: "impatient")
    machine.wait(for: .durable, as: "patient")
    machine.wait(for: .room, as: "room", objects: 20)
    machine.begin()
    machine.merge("b")
    _ = machine.drain()
    var delays: [String] = []
    for round in 0..<7 {
      machine.postpone()
      let seen = machine.drain()
      delays.append(seen[0])
      #expect(Array(seen.dropFirst()) == (round == 0 ? ["unwritable", "impatient false"] : ["unwritable"]))
      #expect(machine.state.phase == .retrying)
      #expect(machine.state.oldest != nil)
      machine.perform { $0.timerFired() }
      #expect(machine.drain() == ["disarm", "flush"])
      machine.begin()
    }
    #expect(delays == [250, 500, 1000, 2000, 4000, 5000, 5000].map { "arm \(Double($0)) ms" })
    #expect(machine.state.statistics.lastError != nil)
    machine.succeed()
    #expect(machine.drain() == ["writable", "durable a b", "room true", "patient true"])
    #expect(machine.state.statistics.lastError == nil)
    machine.merge("c")
    #expect(machine.drain() == ["arm 2000.0 ms"])
  }

  @Test("A failure ends all waits, and nothing waits or is flushed from then on")
  func failure() throws {
    let machine = try Machine()
    machine.wait(for: .flush, as: "flush")
    machine.wait(for: .durable, as: "durable")
    machine.wait(for: .room, as: "room", objects: 20)
    machine.begin()
    machine.wait(for: .flush, as: "later")
    _ = machine.drain()
    machine.fail()
    #expect(machine.drain() == ["failed", "room true", "flush false", "durable false", "later false"])
    machine.merge("a", objects: 1_000, isAwaited: true)
    machine.perform { $0.timerFired() }
    machine.perform { $0.request() }
    machine.wait(for: .flush, as: "f")
    machine.wait(for: .durable, as: "d")
    machine.wait(for: .room, as: "r", objects: 1_000)
    #expect(machine.drain() == ["f false", "d false", "r true"])
    #expect(machine.state.phase == .failed)
  }

  @Test("At the end of the daemon nothing waits for room or for a disk any more, but for a flush")
  func ending() throws {
    let machine = try Machine()
    machine.wait(for: .durable, as: "durable")
    machine.begin()
    machine.wait(for: .durable, as: "second")
    machine.wait(for: .room, as: "room", objects: 20)
    _ = machine.drain()
    machine.perform { $0.endWaiting() }
    #expect(machine.drain() == ["room true", "second false"])
    machine.postpone()
    #expect(machine.drain() == ["arm 250.0 ms", "unwritable", "durable false"])
    machine.wait(for: .room, as: "r", objects: 1_000)
    machine.wait(for: .durable, as: "d")
    #expect(machine.drain() == ["r true", "d false"])
    machine.wait(for: .flush, as: "f")
    machine.begin()
    machine.succeed()
    #expect(machine.drain() == ["disarm", "flush", "writable", "f true"])
  }
}
