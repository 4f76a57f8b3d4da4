import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Testing

@testable import Fleet
@testable import FleetSimulation

/// The removal of final jobs by the lead, which asks nobody and is not to remove what it still needs.
@Suite("The removal of a fleet's final jobs")
struct JobRemovalTests {
  private static func job(_ key: Int64, after others: [String] = []) -> FleetJob {
    var specification = JobSpecification(type: "work", id: "job\(key)")
    specification.after = others
    return FleetJob(id: id(key), name: "job\(key)", specification: specification, created: 0)
  }

  /// A host that leads and works alone, which is asked and answered by hand.
  private final class Host {
    let ledger = MemoryLedger()
    private(set) var member: FleetMember
    private(set) var actions: [MemberAction] = []
    private var isRefusing = false
    private var ticket: Int64 = 0

    init(_ jobs: [FleetJob]) throws {
      ledger.now = 1_000_000
      _ = try ledger.perform(.join(FleetHost(root: "a", slots: 9, types: ["work"], places: [])))
      let clock = FleetClock(serverTime: ledger.now, receivedAt: ledger.now)
      member = FleetMember(number: 1, joinSentAt: ledger.now, clock: clock, times: FleetTimes(), agingStep: 60_000)
      handle(.beatDue)
      handle(.candidacyDue)
      handle(.admit(jobs))
      settle()
    }

    /// Tells the member of an event, and carries out what follows, as far as that takes no time.
    func handle(_ event: MemberEvent) {
      var events = [event]
      while let next = events.popLast() {
        for action in member.handle(next, at: ledger.now) {
          actions.append(action)
          guard case .send(let request, let channel) = action else { continue }
          let result: Result<LedgerReply, LedgerError> =
            if case .remove = request, isRefusing { .failure(.impossible("not allowed")) } else {
              Result { () throws(LedgerError) in try ledger.perform(request) }
            }
          events.append(.answered(channel, result, sentAt: ledger.now))
        }
      }
    }

    func settle() {
      for _ in 0..<10 {
        ledger.now += 20
        handle(.hinted(.news))
        handle(.roundDue)
      }
    }

    func end(_ keys: Int64..., event: JobEvent = .succeeded) {
      handle(.hinted(.runs))
      for key in keys {
        guard let run = ledger.runs.row(id(key), for: 0) else { continue }
        handle(.finished(EndedRun(run: run, event: event)))
      }
      settle()
    }

    /// Answers how many of some jobs were removed; nil if that was refused.
    func remove(_ keys: Int64..., isRefused: Bool = false) -> Int? {
      isRefusing = isRefused
      actions = []
      handle(.remove(keys.map { FinalJob(id: id($0), name: "job\($0)") }))
      return actions.compactMap { if case .report(.removed(let count)) = $0 { count } else { nil } }.first
    }

    func order(_ command: JobCommand, _ key: Int64) -> OrderAnswer.Outcome? {
      ticket += 1
      handle(.order(.command(command, [Order.Target(id(key), attempts: 2)]), ticket: ticket))
      settle()
      guard case .outcomes(let outcomes)? = ledger.answers.row(.init(host: 1, ticket: ticket), for: 0)?.content else {
        return nil
      }
      return outcomes.first
    }

    func state(_ key: Int64) -> JobState? { ledger.jobs.row(id(key), for: 0)?.state }
  }

  @Test("leaves jobs alone that are unfinished, or in quarantine, or that unfinished ones name")
  func needed() throws {
    let host = try Host([Self.job(1), Self.job(2), Self.job(3), Self.job(4, after: ["job1", "never"]), Self.job(5)])
    host.end(1, 2)
    host.end(3, event: .quarantined)
    #expect(host.remove(1, 2, 3, 4, 5, 99) == 1)
    #expect(host.state(2) == nil && [1, 3, 4, 5].allSatisfy { host.state($0) != nil })
    #expect(host.order(.cancel(reason: "enough"), 4) == .done)
    #expect(host.remove(1, 4) == 2)
  }

  @Test("and a retry do not cross: a job that was removed is unknown, and one that is put back stays")
  func retried() throws {
    let host = try Host([Self.job(1), Self.job(2)])
    host.end(1, 2)
    #expect(host.order(.retry, 2) == .done)
    #expect(host.remove(1, 2) == 1)
    #expect(host.order(.retry, 1) == .unknown)
    #expect(host.order(.cancel(reason: "enough"), 1) == .unknown)
    #expect(host.state(2) == .available && host.member.lead != nil)
  }

  @Test("that the server refuses does not end the host, and its lead goes on")
  func refused() throws {
    let host = try Host([Self.job(1), Self.job(2)])
    host.end(1)
    #expect(host.remove(1, isRefused: true) == nil)
    #expect(host.actions.contains { if case .report(.notRemoved("not allowed")) = $0 { true } else { false } })
    host.end(2)
    #expect(host.remove(1, 2) == 2)
  }

  @Test("is asked for when jobs have ended: the lead tells how many, however they did")
  func told() throws {
    let host = try Host([Self.job(1), Self.job(2, after: ["job1"]), Self.job(3)])
    #expect(host.actions.contains { if case .report(.leads) = $0 { true } else { false } })
    host.end(3)
    host.end(1, event: .gaveUp)
    var counts: [JobState: Int] = [:]
    for case .report(.ended(let ends)) in host.actions { counts.merge(ends) { $0 + $1 } }
    #expect(counts == [.completed: 1, .discarded: 1, .cancelled: 1])
  }

  @Test("is left to the lead")
  func others() throws {
    var member = FleetMember(
      number: 1, joinSentAt: 0, clock: FleetClock(serverTime: 0, receivedAt: 0), times: FleetTimes(), agingStep: 1)
    let actions = member.handle(.remove([FinalJob(id: id(1), name: "job1")]), at: 0)
    guard case .report(.removed(0))? = actions.first, actions.count == 1 else {
      Issue.record("a host that does not lead has removed jobs")
      return
    }
  }
}

private func id(_ key: Int64) -> ManagedObjectID {
  ManagedObjectID(key: key, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
}
