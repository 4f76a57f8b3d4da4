import JobSchedule
import ObjectGraph
import Testing

@testable import Fleet
@testable import FleetSimulation

@Suite("Hosts that come and go")
struct ComingAndGoingTests {
  @Test("A host that has joined hints to the lead with its first answered beat, and with no other")
  func hint() {
    var member = FleetMember(
      number: 1, joinSentAt: 0, clock: FleetClock(serverTime: 0, receivedAt: 0), times: FleetTimes(), agingStep: 1)
    let beat = Beat(
      time: 0, server: LedgerServer(timeline: 1, isReplicated: true), term: 1, lead: 2, leadSilence: 0, silences: [],
      runCount: 0)
    let hints = [0, 700].map { time in
      member.handle(.answered(.beat, .success(.beaten(beat)), sentAt: time), at: time + 2).contains {
        if case .hint([2], .news) = $0 { true } else { false }
      }
    }
    #expect(hints == [true, false])
  }

  @Test("A host that is gone before the lead has heard that it came is given nothing")
  func gone() throws {
    let desk = try LeadDesk([LeadDesk.job(1, place: "c")])
    let host = FleetHost(root: "c", slots: 2, types: ["work"], places: ["c"])
    guard case .joined(let number, _) = try desk.ledger.perform(.join(host)) else {
      Issue.record("it has not joined")
      return
    }
    desk.suspect(number)
    try desk.settle()
    #expect(desk.ledger.hosts.row(number, for: 0)?.isAlive == false)
    #expect(desk.run(1) == nil)
    guard case .joined(let next, _) = try desk.ledger.perform(.join(host)) else {
      Issue.record("its successor has not joined")
      return
    }
    try desk.settle()
    #expect(desk.run(1)?.host == next)
  }
}
