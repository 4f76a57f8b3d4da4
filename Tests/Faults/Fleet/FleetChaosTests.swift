import DaemonTesting
import Foundation
import Glibc
import PostgresTesting
import TestSupport
import Testing

/// Faults done to four real daemons that share a real PostgreSQL with a synchronous standby, while files come.
///
/// `make test-fleet` does many, every test run a few; ``FaultPlan`` says how many.
@Suite("Chaos in a fleet", .serialized, .enabled(if: PostgresCluster.isAvailable()))
struct FleetChaosTests {
  enum Fault: String, CaseIterable {
    /// SIGKILL, and a start when others have the jobs.
    case killHost
    /// SIGKILL, and a start at once.
    case restartHost
    /// SIGKILL to the one that leads.
    case killLead
    /// SIGTERM, and a start.
    case stopHost
    /// SIGSTOP for seven seconds.
    case suspendHost
    /// Nothing comes through between a host and the servers for seven seconds.
    case isolateHost
    /// SIGKILL to all processes of the primary, which is started again.
    case killServer
    /// SIGKILL to the primary for good: the standby takes its place.
    case failOver
    /// A host's wall clock is set.
    case setClock
  }

  /// The time that others may take to know a silent host for lost, in seconds.
  private static let takeoverLimit = 4.5

  @Test("Whatever happens to hosts and servers, every job has its effects once, and no limit is exceeded")
  func chaos() async throws {
    let trial = try await FleetTrial(hosts: ["a", "b", "c", "d"])
    let count = FaultPlan.count("FLEET", short: Fault.allCases.count, whole: 1_000)
    try await chaos(on: trial, count: count, FaultFigures("chaos in a fleet"))
  }

  @Test(
    "So it is behind a pooler that gives each transaction another connection", .enabled(if: PostgresCluster.hasPooler())
  )
  func pooled() async throws {
    let trial = try await FleetTrial(hosts: ["a", "b", "c", "d"], isPooled: true)
    let count = FaultPlan.count("POOLED", short: Fault.allCases.count, whole: 200)
    try await chaos(on: trial, count: count, FaultFigures("chaos in a fleet behind a pooler"))
  }

  private func chaos(on trial: FleetTrial, count: Int, _ figures: FaultFigures) async throws {
    var faults: [Fault] = []
    // Each kind comes as often as the others.
    while faults.count < count { faults += await trial.shuffled(Fault.allCases).prefix(count - faults.count) }
    var figures = figures
    try await repeated(faults.map(\.rawValue), on: trial, &figures) { number in
      try await strike(faults[number], trial)
      try await trial.restartEnded(after: faults[number].rawValue)
      if number % 10 == 9 || number == faults.count - 1 { try await trial.settle() }
    }
    let takeovers = await trial.takeovers.sorted()
    let slow = takeovers.filter { $0 >= Self.takeoverLimit }
    let tried = Dictionary(grouping: faults.prefix(figures.faults), by: \.rawValue)
    let counts = tried.map { "\($0.value.count) \($0.key)" }.sorted().joined(separator: ", ")
    let text = takeovers.map { String(format: "%.2f", $0) }
    figures.tell(
      "\(takeovers.count) takeovers after \(text.first ?? "-") to \(text.last ?? "-") s, "
        + "half of them within \(text.isEmpty ? "-" : text[text.count / 2]) s; \(counts)")
    // A machine that does other things as well may be late.
    if FaultPlan.isWhole { #expect(slow.isEmpty, "takeovers after \(slow) s") }
  }

  @Test("A failover that takes back seconds of answers loses no job that was accepted, and has none done twice")
  func setBack() async throws {
    let trial = try await FleetTrial(hosts: ["a", "b"], isSynchronous: false)
    let count = FaultPlan.count("FAILOVERS", short: 2, whole: 60)
    var figures = FaultFigures("failovers that lose answers")
    try await repeated(Array(repeating: "a failover", count: count), on: trial, &figures) { number in
      try await trial.failOverLosingAnswers(isHostDown: number % 3 == 1)
      try await trial.settle()
    }
    figures.tell("every third with a host down meanwhile")
  }

  /// Drops files and does a fault, one after the other, until something is wrong; ends the hosts, and judges what was found.
  private func repeated(
    _ faults: [String], on trial: FleetTrial, _ figures: inout FaultFigures, strike: (Int) async throws -> Void
  ) async throws {
    for (number, fault) in faults.enumerated() {
      try await trial.drop(files: await trial.number(in: 2...8))
      // The moment is the fault, nothing waits for it.
      try await Task.sleep(for: .milliseconds(await trial.number(in: 0...500)))
      do {
        if try await trial.hasWork { figures.struck += 1 }
        try await strike(number)
      } catch {
        let state = await trial.state()
        Issue.record("\(fault), the fault \(number) of seed \(FaultPlan.seed): \(error)\n\(state)")
        return
      }
      figures.faults += 1
      // What is wrong once stays so.
      if await trial.problems.contains(where: { $0.kind != .other }) { break }
    }
    try await trial.stop()
    let problems = await trial.problems
    figures.count(problems)
    figures.jobs = await trial.jobCount
    #expect(problems.isEmpty, "seed \(FaultPlan.seed): \(problems.map(\.description).joined(separator: "\n"))")
  }

  private func strike(_ fault: Fault, _ trial: FleetTrial) async throws {
    switch fault {
    case .killHost, .killLead:
      let host = try await fault == .killLead ? trial.lead() : trial.anyHost()
      try await trial.lose(host) { daemon, _ in try await daemon.kill() }
      try await trial.start(host)
    case .restartHost:
      let host = try await trial.anyHost()
      try await trial.daemon(host).kill()
      try await trial.start(host)
    case .stopHost:
      let host = try await trial.anyHost()
      let end = try await trial.daemon(host).stop()
      #expect(end == .exited(code: 0))
      try await trial.start(host)
    case .suspendHost:
      let host = try await trial.anyHost()
      let start = ContinuousClock.now
      try await trial.lose(host) { daemon, _ in try daemon.child.kill(SIGSTOP) }
      try await Task.sleep(until: start.advanced(by: .seconds(7)))
      try await trial.daemon(host).child.kill(SIGCONT)
      try await trial.expectFenced(host)
      try await trial.start(host)
    case .isolateHost:
      let host = try await trial.anyHost()
      let start = ContinuousClock.now
      let links = await trial.hosts[host].links
      try await trial.lose(host) { _, links in for link in links { link.isolate() } }
      try await Task.sleep(until: start.advanced(by: .seconds(7)))
      for link in links { link.restore() }
      try await trial.expectFenced(host)
      try await trial.start(host)
    case .killServer: try await trial.restartServer()
    case .failOver: try await trial.failOver()
    case .setClock:
      try await trial.setClock(try await trial.anyHost(), ahead: await trial.pick([-86_400, -60, 0, 60, 86_400]))
    }
  }
}
