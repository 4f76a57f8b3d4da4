import Fleet
import JobSchedule
import Synchronization
import SystemSupport
import Testing

@testable import JobDaemon

@Suite("The wait for a standby")
struct StandbyWaitTests {
  private let wait = StandbyWait(log: DaemonLog(journal: Journal(identifier: "test"), level: .error))
  private let calls = Calls()

  private final class Calls: Sendable {
    private let names = Mutex<[String]>([])

    func add(_ name: String) { names.withLock { $0.append(name) } }

    /// Those since the last time.
    func take() -> [String] {
      names.withLock { names in
        defer { names = [] }
        return names
      }
    }
  }

  private func call(_ name: String) { wait.whenFollowed { [calls] in calls.add(name) } }

  /// A beat, which was sent so many milliseconds ago; without a place, nothing follows.
  private func beat(
    _ position: Int64, _ other: Int64?, standbys: Int = 1, isHidden: Bool = false, isReplicated: Bool = false,
    timeline: Int64 = 1, early: Int64 = -1
  ) {
    var beat = Beat(
      time: 0, server: LedgerServer(timeline: timeline, isReplicated: isReplicated), term: 1, lead: 1, leadSilence: 0,
      silences: [],
      runCount: 0)
    (beat.log.position, beat.log.followedTo) = (position, other)
    (beat.log.standbyCount, beat.log.isHidden) = (standbys, isHidden)
    wait.note(beat, sentAt: Moment.now().steady - early)
  }

  @Test(
    "Nothing is waited for without a standby, nor where commits wait for it, nor where nobody may see how far it is")
  func unneeded() {
    call("before the first beat")
    #expect(calls.take() == [])
    beat(10, nil, standbys: 0)
    #expect(calls.take() == ["before the first beat"])
    call("alone")
    beat(10, 5)
    call("followed")
    #expect(calls.take() == ["alone"])
    beat(20, 5, isReplicated: true)
    #expect(calls.take() == ["followed"])
    beat(20, nil, isHidden: true)
    call("hidden")
    #expect(calls.take() == ["hidden"])
  }

  @Test("A call waits for the place that a beat tells which was sent behind it, in order")
  func order() {
    beat(10, 10)
    call("1")
    // Of this beat the answer may be older than what it waits for.
    beat(10, 10, early: 1_000)
    #expect(calls.take() == [])
    beat(20, 10)
    call("2")
    beat(30, 19)
    #expect(calls.take() == [])
    beat(40, 20)
    #expect(calls.take() == ["1"])
    beat(50, 40)
    #expect(calls.take() == ["2"])
  }

  @Test(
    "A standby that is away is waited for a minute in which the database answers, and then for nothing until all have caught up",
    arguments: [0, 1], [20, 700] as [Int64])
  func limit(others: Int, pause: Int64) {
    // Far ahead of the clock, which goes on meanwhile.
    var time: Int64 = 1_000_000
    func pass(_ pause: Int64) {
      time += pause
      beat(20, 20, standbys: others, early: -time)
    }
    beat(10, 10, standbys: others + 1, early: -time)
    call("away")
    for _ in 0..<(58_000 / pause) { pass(pause) }
    // The database was away, and of that a second counts.
    pass(3_600_000)
    #expect(calls.take() == [])
    var called: [String] = []
    for _ in 0...(2_000 / pause) where called.isEmpty {
      pass(pause)
      called = calls.take()
    }
    #expect(called == ["away"])
    // It is back, and behind.
    beat(30, 15, standbys: others + 1)
    call("meanwhile")
    #expect(calls.take() == ["meanwhile"])
    beat(40, 30, standbys: others + 1)
    call("again")
    #expect(calls.take() == [])
    for _ in 0..<2 { beat(50, 50, standbys: others + 1) }
    #expect(calls.take() == ["again"])
  }

  @Test("A standby that has taken the primary's place is not waited for")
  func failover() {
    beat(10, 10, isReplicated: true)
    beat(20, nil, standbys: 0, timeline: 2)
    call("alone")
    #expect(calls.take() == ["alone"])
  }

  @Test("Whatever waits at the end is left to the next start")
  func stop() async {
    beat(10, 5)
    call("late")
    async let isFollowed = wait.waitUntilFollowed()
    wait.stop()
    call("later")
    beat(20, 30)
    beat(20, 30)
    #expect(calls.take() == [])
    #expect(await !isFollowed)
    await wait.end()
  }
}
