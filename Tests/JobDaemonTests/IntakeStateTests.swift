import Configuration
import SystemSupport
import Testing

@testable import JobDaemon

@Suite("The states of the intake")
struct IntakeStateTests {
  private var state = IntakeState(configuration: Configuration().spool)

  private func sighted(_ names: [FileName], _ sighting: Spool.Sighting = .scan) -> IntakeState.Step {
    .claim(names.map { PendingNames.Sighted(name: $0, sighting: sighting) })
  }

  @Test("Names from events are claimed in their order, after which the intake rests")
  mutating func events() {
    #expect(state.next() == .rest)
    #expect(state.notice([.entry("b"), .entry("a")]) == [.work])
    #expect(state.needsRoom)
    #expect(state.next() == sighted(["b", "a"], .event))
    #expect(state.next() == .rest)
    #expect(state.notice([.created("c")]) == [.work])
    #expect(state.next() == sighted(["c"], .created))
  }

  @Test("A scan reads chunk after chunk, and what each brings is claimed before the next")
  mutating func scan() {
    #expect(state.rescan() == [.work])
    #expect(!state.needsRoom)
    #expect(state.next() == .scan(isNew: true))
    state.add(scanned: ["a"], isLast: false)
    #expect(state.next() == sighted(["a"]))
    #expect(state.next() == .scan(isNew: false))
    state.add(scanned: [], isLast: true)
    #expect(state.next() == .rest)
  }

  @Test("A scan that was wanted during another one follows it")
  mutating func scanAgain() {
    _ = state.rescan()
    #expect(state.next() == .scan(isNew: true))
    _ = state.rescan()
    state.add(scanned: [], isLast: true)
    #expect(state.next() == .scan(isNew: true))
    state.add(scanned: [], isLast: true)
    #expect(state.next() == .rest)
  }

  @Test("A scan that fails is tried again after a while, unless the error is lasting")
  mutating func failedScan() {
    _ = state.rescan()
    _ = state.next()
    #expect(state.endScan(isLasting: true) == [])
    #expect(state.next() == .rest)
    _ = state.rescan()
    _ = state.next()
    #expect(state.endScan(isLasting: false) == [.rescan(after: IntakeState.retryDelay)])
  }

  @Test("While a fleet's database is away submissions are refused, and dropped files wait to be claimed")
  mutating func databaseAway() {
    state.pause(.databaseAway)
    #expect(state.refusal == .databaseAway)
    #expect(state.notice([.entry("a")]) == [.work])
    #expect(state.next() == .rest)
    #expect(state.resume(.databaseAway) == [.work])
    #expect(state.refusal == nil)
    #expect(state.next() == .scan(isNew: true))
  }

  @Test("While it is paused nothing is claimed or kept; the end of the last pause brings a scan that finds it all")
  mutating func paused() {
    _ = state.notice([.entry("a")])
    state.pause(.storageFull)
    state.pause(.unflushed)
    #expect(!state.needsRoom)
    #expect(state.next() == .rest)
    _ = state.notice([.entry("b")])
    #expect(state.resume(.storageFull) == [.work])
    #expect(state.next() == .rest)
    #expect(state.resume(.unflushed) == [.work])
    #expect(state.next() == .scan(isNew: true))
    #expect(state.resume(.unflushed) == [])
  }

  @Test("A pause that is taken back at once keeps the names")
  mutating func cancelledPause() {
    _ = state.notice([.entry("a")])
    state.pause(.tooManyJobs)
    state.cancelPause(.tooManyJobs)
    #expect(state.next() == sighted(["a"], .event))
  }

  @Test("Submissions are refused for the heaviest pause of the store only")
  mutating func refusal() {
    for pause in [IntakeState.Pause.tooManyJobs, .unflushed] { state.pause(pause) }
    #expect(state.refusal == nil)
    state.pause(.admissionBusy)
    #expect(state.refusal == .storeBusy)
    state.pause(.admissionFull)
    #expect(state.refusal == .storageFull)
    state.pause(.stopping)
    #expect(state.refusal == .stopping)
  }

  @Test("What did not fit into a batch comes first in the next one")
  mutating func putBack() {
    _ = state.notice([.entry("a"), .entry("b")])
    guard case .claim(let names) = state.next() else {
      Issue.record("there are names to claim")
      return
    }
    _ = state.notice([.entry("c")])
    state.putBack(names[1...])
    #expect(state.next() == sighted(["b", "c"], .event))
  }

  @Test("An unfinished file is looked at again at growing intervals, and the last time as after an event")
  mutating func unfinished() {
    var delays: [Int] = []
    while case .lookAgain("a", let delay)? = state.noteUnfinished("a").first {
      delays.append(delay)
      #expect(state.lookAgain(at: "a") == [.work])
      #expect(state.next() == sighted(["a"], delays.count == 6 ? .event : .scan))
    }
    #expect(delays == [5, 20, 80, 320, 1280, 5120])
    // It begins anew.
    #expect(state.noteUnfinished("a") == [.lookAgain("a", after: 5)])
    state.forget("a")
    #expect(state.noteUnfinished("a") == [.lookAgain("a", after: 5)])
  }

  @Test("A file waits for the end of its namesake, and for no other")
  mutating func namesake() {
    state.block("a")
    #expect(state.noteFree("b") == [])
    #expect(state.next() == .rest)
    #expect(state.noteFree("a") == [.work])
    #expect(state.next() == sighted(["a"], .event))
    #expect(state.noteFree("a") == [])
  }

  @Test("Trouble with a file is logged once, and tried again unless it is lasting")
  mutating func trouble() {
    let again = IntakeState.Action.rescan(after: IntakeState.retryDelay)
    #expect(state.noteTrouble("a", isLasting: false) == [.logTrouble, again])
    #expect(state.noteTrouble("a", isLasting: false) == [again])
    #expect(state.noteTrouble("b", isLasting: true) == [.logTrouble])
  }

  @Test("Lost events bring a scan")
  mutating func lost() {
    #expect(state.notice([.rescan(.overflow)]) == [.logLostEvents(.overflow), .work])
    #expect(state.next() == .scan(isNew: true))
  }

  @Test("Doubtful files are read again together")
  mutating func doubtful() {
    #expect(state.noteDoubtful("a") == [.readDoubtful])
    #expect(state.noteDoubtful("b") == [])
    #expect(state.drainDoubtful() == ["a", "b"])
    #expect(state.noteDoubtful("c") == [.readDoubtful])
  }
}
