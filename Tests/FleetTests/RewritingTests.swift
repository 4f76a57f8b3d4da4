import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import Testing

@testable import Fleet
@testable import FleetSimulation

/// Orders that give known jobs other specifications or arguments, or delete them.
@Suite("An order to a fleet that changes jobs")
struct RewritingTests {
  private static func replacement(
    of key: Int64, by file: String = "new", _ change: (inout JobSpecification) -> Void = { _ in }
  ) -> JobReplacement {
    var specification = LeadDesk.job(key).specification
    specification.replacements = [file]
    change(&specification)
    return JobReplacement(job: LeadDesk.id(key), specification: specification, place: nil, attemptKey: 1)
  }

  @Test(
    "to replace a job that waits puts the new one in its place, for which others go on to wait",
    arguments: [false, true])
  func replaceWaiting(isLeadReplaced: Bool) throws {
    let late = Date(timeIntervalSince1970: 4_000_000_000)
    let desk = try LeadDesk([
      LeadDesk.job(1) { ($0.notBefore, $0.batch) = (late, "b") }, LeadDesk.job(2) { $0.after = ["job1"] },
      LeadDesk.job(3) { $0.afterBatch = "b" },
    ])
    let new = Self.replacement(of: 1) { ($0.priority, $0.batch) = (7, "b") }
    #expect(try desk.ask(.replace([new])) == .outcomes([.done]))
    if isLeadReplaced { try desk.replaceLead() }
    #expect(desk.job(1)?.specification.priority == 7 && desk.run(1)?.attempt == 1)
    #expect(desk.run(2) == nil && desk.run(3) == nil)
    // The same file once more changes nothing.
    #expect(try desk.ask(.replace([new])) == .outcomes([.done]))
    #expect(desk.stop(1) == nil)
    try desk.end(1, .succeeded)
    #expect(desk.run(2) != nil && desk.run(3) != nil)
  }

  @Test(
    "to replace a job that runs has its host revert it first, also if it dies meanwhile", arguments: [false, true])
  func replaceRunning(isHostDead: Bool) throws {
    let desk = try LeadDesk.withJobElsewhere()
    let first = try #require(desk.run(1))
    let ticket = try desk.place(.replace([Self.replacement(of: 1) { $0.priority = 7 }]))
    try desk.settle()
    #expect(desk.stop(1)?.event == .interrupted && desk.stop(1)?.run == first && desk.answer(ticket) == nil)
    if isHostDead {
      _ = try desk.ledger.perform(.join(FleetHost(root: "a", slots: 2, types: ["work"], places: ["a"])))
      try desk.settle()
      // What it has left is reverted elsewhere; only then the new one begins.
      #expect(desk.stop(1)?.run == desk.run(1) && desk.run(1)?.attempt == 2)
      #expect(desk.job(1)?.specification.priority == 0)
    }
    try desk.end(1, .held)
    #expect(desk.job(1)?.specification.priority == 7 && desk.job(1)?.state == .available)
    #expect(desk.stop(1)?.run != desk.run(1) && desk.run(2) == nil)
    try desk.end(1, .succeeded)
    #expect(desk.job(1)?.state == .completed && desk.run(2) != nil)
  }

  @Test("to replace a job whose host is silent is obeyed with its takeover, though nobody tells anything else")
  func replaceOnSilentHost() throws {
    let desk = try LeadDesk.withJobElsewhere()
    let ticket = try desk.place(.replace([Self.replacement(of: 1)]), by: 2)
    try desk.settle()
    desk.suspect(1)
    try desk.goOnAlone()
    #expect(desk.run(1) == Run(job: LeadDesk.id(1), host: 2, attempt: 2) && desk.stop(1)?.run == desk.run(1))
    try desk.end(1, .held)
    #expect(desk.answer(ticket, to: 2) == .outcomes([.done]) && desk.run(1)?.attempt == 3)
  }

  @Test("to replace what a host can't revert has one try again after ten seconds, and not before")
  func replaceUnreverted() throws {
    let desk = try LeadDesk([LeadDesk.job(1)])
    let ticket = try desk.place(.replace([Self.replacement(of: 1)]))
    try desk.settle()
    try desk.end(1, .held, isReverted: false)
    #expect(desk.run(1) == nil && desk.answer(ticket) == nil)
    desk.ledger.now += 10_000
    try desk.settle()
    #expect(desk.run(1)?.attempt == 2 && desk.stop(1)?.event == .interrupted && desk.answer(ticket) == nil)
    try desk.end(1, .held)
    #expect(desk.answer(ticket) == .outcomes([.done]) && desk.run(1)?.attempt == 3 && desk.stop(1)?.run != desk.run(1))
  }

  @Test("to cancel what is held before it is told is carried out by the next lead, if the first dies before it has")
  func cancelHeld() throws {
    let desk = try LeadDesk([LeadDesk.job(1)])
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    try desk.tellEnd(1, .held, isReverted: false)
    try desk.replaceLead()
    #expect(desk.run(1)?.attempt == 2 && desk.stop(1)?.event == .cancelled)
    try desk.end(1, .cancelled)
    #expect(desk.job(1)?.state == .cancelled)
  }

  @Test("to cancel what a host can't revert has it tried anew every ten seconds, and not before, also by the next lead")
  func cancelUnreverted() throws {
    let desk = try LeadDesk([LeadDesk.job(1)])
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    // It was held for a reason of its own, before it was told.
    try desk.end(1, .held, isReverted: false)
    for attempt in [2, 3] {
      #expect(desk.run(1)?.attempt == attempt && desk.stop(1)?.event == .cancelled)
      try desk.end(1, .held, isReverted: false)
      #expect(desk.run(1) == nil && desk.job(1)?.state == .held)
      #expect(try desk.ask(.cancel(reason: "again"), 1) == .done)
      desk.ledger.now += 8_000
      try desk.settle()
      #expect(desk.run(1) == nil)
      desk.ledger.now += 2_000
      try desk.settle()
    }
    try desk.end(1, .held, isReverted: false)
    try desk.replaceLead()
    #expect(desk.run(1)?.attempt == 5 && desk.stop(1)?.event == .cancelled)
    try desk.end(1, .cancelled)
    #expect(desk.job(1)?.state == .cancelled && desk.run(1) == nil)
  }

  @Test("to replace what a host can't revert does not leave it held, also if another lead finds it so")
  func replaceUnrevertedByNextLead() throws {
    let desk = try LeadDesk([LeadDesk.job(1)])
    let ticket = try desk.place(.replace([Self.replacement(of: 1)]))
    try desk.settle()
    try desk.end(1, .held, isReverted: false)
    try desk.replaceLead()
    #expect(desk.run(1)?.attempt == 2 && desk.stop(1)?.event == .interrupted)
    try desk.end(1, .held)
    #expect(desk.answer(ticket) == .outcomes([.done]) && desk.job(1)?.state == .available)
  }

  @Test(
    "to replace a job that is just being held reverts what is left of it, and leaves it held", arguments: [false, true])
  func replaceAsItIsHeld(isLeadReplaced: Bool) throws {
    let desk = try LeadDesk([LeadDesk.job(1)])
    #expect(try desk.ask(.hold, 1) == .done)
    let ticket = try desk.place(.replace([Self.replacement(of: 1)]))
    try desk.settle()
    #expect(desk.stop(1)?.event == .held)
    try desk.end(1, .held)
    #expect(desk.run(1)?.attempt == 2 && desk.stop(1)?.event == .interrupted)
    // In vain, and once more.
    try desk.end(1, .held, isReverted: false)
    if isLeadReplaced { try desk.replaceLead() }
    desk.ledger.now += 10_000
    try desk.settle()
    #expect(desk.run(1)?.attempt == 3)
    try desk.end(1, .held)
    #expect(desk.answer(ticket) == .outcomes([.done]) && desk.job(1)?.state == .held && desk.run(1) == nil)
    #expect(try desk.ask(.release, 1) == .done)
    #expect(desk.run(1)?.attempt == 4)
  }

  @Test("to replace several jobs keeps those that wait from beginning until all can be replaced")
  func replaceTogether() throws {
    let desk = try LeadDesk((1...5).map { LeadDesk.job($0) })
    #expect(desk.run(5) == nil)
    let new = [1, 5].map { Self.replacement(of: $0) { $0.priority = 7 } }
    let ticket = try desk.place(.replace(new))
    try desk.settle()
    try desk.end(2, .succeeded)
    #expect(desk.run(5) == nil && desk.answer(ticket) == nil)
    try desk.end(1, .held)
    #expect(desk.answer(ticket) == .outcomes([.done, .done]))
    #expect(desk.run(5)?.attempt == 1 && desk.job(5)?.specification.priority == 7)
  }

  @Test("to replace a job goes by what the new one waits for, if the old one waits for what just ends otherwise")
  func replaceWhatWaits() throws {
    let late = Date(timeIntervalSince1970: 4_000_000_000)
    let desk = try LeadDesk([LeadDesk.job(1) { $0.notBefore = late }, LeadDesk.job(2) { $0.after = ["job1"] }])
    _ = try desk.place(.command(.cancel(reason: "enough"), [Order.Target(LeadDesk.id(1), attempts: 1)]))
    #expect(try desk.ask(.replace([Self.replacement(of: 2)])) == .outcomes([.done]))
    #expect(desk.job(1)?.state == .cancelled && desk.run(2) != nil)
  }

  @Test("to hold a job, and one to replace it that comes at once, leave it held")
  func holdAndReplace() throws {
    let desk = try LeadDesk.withThreeJobs()
    _ = try desk.place(.command(.hold, [Order.Target(LeadDesk.id(2), attempts: 1)]))
    #expect(try desk.ask(.replace([Self.replacement(of: 2)])) == .outcomes([.done]))
    #expect(desk.job(2)?.state == .held && desk.run(2) == nil)
  }

  @Test("to replace a job that is over runs it again, behind what its file names, and before what names it")
  func replaceOver() throws {
    let desk = try LeadDesk([LeadDesk.job(1), LeadDesk.job(2)])
    try desk.end(1, .succeeded)
    let ticket = try desk.place(.replace([Self.replacement(of: 1) { $0.after = ["job2"] }]))
    // The file has another job, which waits for the one that is replaced.
    _ = try desk.ledger.perform(.admit([LeadDesk.job(3) { $0.after = ["job1"] }], desk.receipt(1, 1)))
    try desk.settle()
    #expect(desk.answer(ticket) == .outcomes([.done]))
    #expect(desk.job(1)?.state == .available && desk.run(1) == nil && desk.run(3) == nil)
    // Its attempts go on, but it has not begun: the next lead has it wait as well.
    try desk.replaceLead()
    #expect(desk.run(1) == nil && desk.run(3) == nil)
    try desk.end(2, .succeeded)
    #expect(desk.run(1)?.attempt == 2 && desk.run(3) == nil)
    try desk.end(1, .succeeded)
    #expect(desk.run(3) != nil)
  }

  @Test("to replace that the lead has taken and not obeyed is obeyed by the next one")
  func replaceByNextLead() throws {
    let desk = try LeadDesk([LeadDesk.job(1)])
    let ticket = try desk.place(.replace([Self.replacement(of: 1) { $0.priority = 7 }]))
    try desk.settle()
    try desk.replaceLead()
    #expect(desk.stop(1)?.event == .interrupted && desk.answer(ticket) == nil)
    try desk.end(1, .held)
    #expect(desk.answer(ticket) == .outcomes([.done]) && desk.run(1)?.attempt == 2)
    #expect(desk.job(1)?.state == .available && desk.job(1)?.specification.priority == 7)
  }

  @Test("to replace what is held leaves it held")
  func replaceHeld() throws {
    let desk = try LeadDesk.withThreeJobs()
    #expect(try desk.ask(.hold, 2) == .done)
    #expect(try desk.ask(.replace([Self.replacement(of: 2)])) == .outcomes([.done]))
    #expect(desk.job(2)?.state == .held && desk.run(2) == nil)
    #expect(try desk.ask(.release, 2) == .done)
    #expect(desk.run(2) != nil)
  }

  @Test("to replace a quarantined job reverts it first, wherever its place is")
  func replaceQuarantined() throws {
    var job = LeadDesk.job(1, place: "a")
    (job.state, job.isPartial, job.attempt) = (.quarantined, true, 3)
    let desk = try LeadDesk([job])
    let ticket = try desk.place(.replace([Self.replacement(of: 1)]))
    try desk.settle()
    #expect(desk.run(1) == Run(job: LeadDesk.id(1), host: 1, attempt: 4) && desk.stop(1)?.event == .interrupted)
    try desk.end(1, .held)
    #expect(desk.answer(ticket) == .outcomes([.done]))
    #expect(desk.run(1)?.attempt == 5 && desk.stop(1)?.run != desk.run(1))
  }

  @Test("to edit gives a job that does not run other arguments and another place, and it waits as before")
  func edit() throws {
    let desk = try LeadDesk.withThreeJobs()
    let change = { (key: Int64) in
      Order.edit(ArgumentChange(job: LeadDesk.id(key), arguments: [:], seen: [:], place: "b"))
    }
    #expect(try desk.ask(change(3)) == .outcomes([.done]))
    #expect(try desk.ask(change(1)) == .outcomes([.impossible(.running)]))
    #expect(try desk.ask(change(9)) == .outcomes([.unknown]))
    #expect(desk.job(3)?.place == "b" && desk.run(3) == nil)
    try desk.end(1, .succeeded)
    #expect(desk.run(3)?.host == 2)
    #expect(try desk.ask(change(1)) == .outcomes([.impossible(.completed)]))
  }

  @Test(
    "to edit changes nothing if the arguments are others by then, so that no edit is lost", arguments: [false, true])
  func editTwice(isLeadReplaced: Bool) throws {
    let desk = try LeadDesk.withThreeJobs()
    let change = { (seen: JSONValue, new: JSONValue) in
      Order.edit(ArgumentChange(job: LeadDesk.id(3), arguments: new, seen: seen, place: nil))
    }
    // At once, then one after the other.
    let first = try desk.place(change([:], ["n": 1]))
    #expect(try desk.ask(change([:], ["n": 2]), by: 2) == .outcomes([.changed]))
    #expect(desk.answer(first) == .outcomes([.done]))
    if isLeadReplaced { try desk.replaceLead() }
    #expect(try desk.ask(change([:], ["n": 3])) == .outcomes([.changed]))
    #expect(try desk.ask(change(["n": 1], ["n": 4])) == .outcomes([.done]))
    #expect(desk.job(3)?.specification.arguments == ["n": 4])
  }

  @Test("for a job for whose replacement something has to end first is answered at once, as often as that fails")
  func commandDuringReplacement() throws {
    let desk = try LeadDesk([LeadDesk.job(1), LeadDesk.job(2), LeadDesk.job(3)])
    let ticket = try desk.place(.replace([Self.replacement(of: 1)]))
    let later = try desk.place(.replace([Self.replacement(of: 1, by: "newer")]))
    let edit = Order.edit(ArgumentChange(job: LeadDesk.id(1), arguments: ["n": 1], seen: [:], place: nil))
    for attempt in 1...3 {
      // Commands for other jobs are obeyed meanwhile.
      let targets = [1, 3].map { Order.Target(LeadDesk.id($0), attempts: 1) }
      #expect(try desk.ask(.command(.hold, targets)) == .outcomes([.replacing, .done]))
      #expect(try desk.ask(edit) == .outcomes([.replacing]))
      #expect(try desk.ask(.cancel(reason: "enough"), 1, by: 2) == .replacing)
      if attempt == 2 { try desk.replaceLead() }
      #expect(desk.run(1)?.attempt == attempt && desk.answer(ticket) == nil && desk.answer(later) == nil)
      try desk.end(1, .held, isReverted: attempt == 3)
      desk.ledger.now += 10_000
      try desk.settle()
    }
    #expect(desk.answer(ticket) == .outcomes([.done]) && desk.answer(later) == .outcomes([.done]))
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    #expect(desk.stop(1)?.event == .cancelled)
  }

  @Test("to delete removes what is over, unless something needs it")
  func delete() throws {
    let late = Date(timeIntervalSince1970: 4_000_000_000)
    let desk = try LeadDesk([LeadDesk.job(1), LeadDesk.job(2) { ($0.after, $0.notBefore) = (["job1"], late) }])
    #expect(try desk.ask(.delete, 1) == .impossible(.running))
    try desk.end(1, .succeeded)
    #expect(try desk.ask(.delete, 1) == .needed(.completed, by: LeadDesk.id(2)))
    #expect(try desk.ask(.cancel(reason: "enough"), 2) == .done)
    #expect(try desk.ask(.delete, 1) == .done)
    #expect(desk.job(1) == nil && desk.job(2) != nil)
    #expect(try desk.ask(.delete, 1) == .unknown)
  }
}
