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

  @Test("Whatever happens to hosts and servers, every job has its effects once, and no limit is exceeded")
  func chaos() async throws {
    let trial = try await FleetTrial(hosts: ["a", "b", "c", "d"])
    let count = FaultPlan.count("FLEET", short: Fault.allCases.count, whole: 1_000)
    try await chaos(on: trial, count: count, FaultFigures("chaos in a fleet"))
  }

  @Test(
    "So it is where some hosts are behind a pooler that gives each transaction another connection",
    .enabled(if: PostgresCluster.hasPooler())
  )
  func pooled() async throws {
    let trial = try await FleetTrial(hosts: ["a", "b", "c", "d"], by: .pooler)
    let count = FaultPlan.count("POOLED", short: Fault.allCases.count, whole: 200)
    try await chaos(on: trial, count: count, FaultFigures("chaos in a fleet with a pooler"))
  }

  @Test(
    "So it is on a network that passes on nothing for a while, without a word",
    .enabled(if: PrivateNetwork.isAvailable()))
  func networked() async throws {
    let trial = try await FleetTrial(hosts: ["a", "b", "c", "d"], by: .network)
    let count = FaultPlan.count("NETWORK", short: Fault.allCases.count, whole: 200)
    try await chaos(on: trial, count: count, FaultFigures("chaos in a fleet on a network"))
  }

  /// The path of an earlier release's daemon, as `make test-upgrade` builds it.
  private static let earlier = ProcessInfo.processInfo.environment["BOBBIN_EARLIER_DAEMON"]

  @Test(
    "Hosts get another release one by one, and go back to the old one, and nobody notices",
    .enabled(if: SkipReason("needs an earlier release's daemon, which make test-upgrade builds").unless(earlier != nil))
  )
  func upgrade() async throws {
    let earlier = try #require(Self.earlier)
    let trial = try await FleetTrial(hosts: ["a", "b", "c"], program: earlier)
    let there = try RepositoryPaths.program("bobbind")
    // There and back a few times, and there to stay.
    let rounds = FaultPlan.count("UPGRADES", short: 1, whole: 10)
    let programs = (0..<rounds).flatMap { _ in [there, earlier] } + [there]
    let hosts = await trial.hosts.indices
    let steps = programs.flatMap { program in hosts.map { (program, host: $0) } }
    var faults: [Fault] = []
    while faults.count < steps.count { faults += await trial.shuffled([.stopHost, .restartHost, .killHost]) }
    var figures = FaultFigures("hosts of two releases")
    let names = zip(faults, steps).map { "\($0) of host \($1.host), which gets \($1.0)" }
    try await repeated(names, on: trial, &figures) { number in
      let (program, host) = steps[number]
      await trial.install(program, on: host)
      try await strike(faults[number], trial, host)
      try await trial.restartEnded(after: names[number])
      if host == hosts.last { try await trial.settle() }
    }
    figures.tell("\(hosts.count) hosts, \(programs.count) times another release")
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
    let slow = await trial.takeovers.filter { $0.seconds >= FleetTrial.takeoverLimit }
    let takeovers = await trial.takeovers.map(\.seconds).sorted()
    let tried = Dictionary(grouping: faults.prefix(figures.faults), by: \.rawValue)
    let counts = tried.map { "\($0.value.count) \($0.key)" }.sorted().joined(separator: ", ")
    let text = takeovers.map { String(format: "%.2f", $0) }
    figures.tell(
      "\(takeovers.count) takeovers after \(text.first ?? "-") to \(text.last ?? "-") s, "
        + "half of them within \(text.isEmpty ? "-" : text[text.count / 2]) s; \(counts)")
    // A machine that does other things as well may be late.
    if FaultPlan.isWhole { #expect(slow.isEmpty, "\(slow.map(\.description).joined(separator: "\n"))") }
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

  /// - Parameter given: the host that a fault of a host is done to; any if nil.
  private func strike(_ fault: Fault, _ trial: FleetTrial, _ given: Int? = nil) async throws {
    func anyHost() async throws -> Int {
      if let given { return given }
      return try await trial.anyHost()
    }
    switch fault {
    case .killHost, .killLead:
      let host = try await fault == .killLead ? trial.lead() : anyHost()
      try await trial.lose(host) { daemon, _ in try await daemon.kill() }
      try await trial.start(host)
    case .restartHost:
      let host = try await anyHost()
      try await trial.daemon(host).kill()
      try await trial.start(host)
    case .stopHost:
      let host = try await anyHost()
      try await trial.stop(host)
      try await trial.start(host)
    case .suspendHost:
      let host = try await anyHost()
      let start = ContinuousClock.now
      try await trial.lose(host) { daemon, _ in try daemon.child.kill(SIGSTOP) }
      try await Task.sleep(until: start.advanced(by: .seconds(7)))
      try await trial.daemon(host).child.kill(SIGCONT)
      try await trial.expectFenced(host)
      try await trial.start(host)
    case .isolateHost:
      let host = try await anyHost()
      let start = ContinuousClock.now
      let link = await trial.hosts[host].link
      try await trial.lose(host) { _, link in try link.cut() }
      try await Task.sleep(until: start.advanced(by: .seconds(7)))
      try link.restore()
      try await trial.expectFenced(host)
      try await trial.start(host)
    case .killServer: try await trial.restartServer()
    case .failOver: try await trial.failOver()
    case .setClock:
      try await trial.setClock(try await anyHost(), ahead: await trial.pick([-86_400, -60, 0, 60, 86_400]))
    }
  }
}
