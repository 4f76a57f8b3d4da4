import FleetSimulation
import Foundation
import Testing

/// Random faults on a fleet with a virtual clock, and the promises that it has to keep.
@Suite struct FleetSimulationTests {
  private static let parts = 20
  private static let seedCount =
    ProcessInfo.processInfo.environment["BOBBIN_FLEET_SEEDS"].flatMap(UInt64.init) ?? 10_000

  @Test(arguments: 0..<UInt64(parts)) func promisesAreKept(part: UInt64) {
    let size = (Self.seedCount + UInt64(Self.parts) - 1) / UInt64(Self.parts)
    for seed in part * size..<min((part + 1) * size, Self.seedCount) {
      if let failure = FleetFuzzer().run(seed: seed) {
        Issue.record("\(failure)")
        return
      }
    }
  }

  /// Seeds behind the first ten thousand that found a fault once, in fleets with all hosts or none behind a pooler.
  @Test(
    arguments: [
      42_664, 76_500, 85_968, 107_100, 115_058, 128_806, 209_694, 234_782, 287_525, 347_880, 403_280, 644_342, 650_752,
      440_291, 499_637,
    ] as [UInt64])
  func promisesAreStillKept(seed: UInt64) {
    if let failure = FleetFuzzer().run(seed: seed, mixesPoolers: false) { Issue.record("\(failure)") }
  }

  @Test("Hundreds of hosts share their jobs as a few do, and those of hosts that die go on", arguments: [64, 200])
  func manyHosts(count: Int) {
    let program = FleetProgram(hosts: count, jobs: 3 * count, deaths: count / 8, seed: UInt64(count))
    if let failure = FleetFuzzer().run(program) { Issue.record("\(failure)") }
  }

  @Test(
    "A database that is away for seconds or an hour costs no job and no host", arguments: [1, 10, 3_600] as [Int64])
  func outage(seconds: Int64) {
    let program = FleetProgram(hosts: 4, jobs: 40, outage: seconds * 1_000, seed: UInt64(seconds))
    if let failure = FleetFuzzer().run(program) { Issue.record("\(failure)") }
  }

  @Test("What a dead host ran is elsewhere in less than 3.7 s, also if the lead died, or both")
  func takeovers() {
    for seed in 0..<Self.seedCount / 10 {
      if let failure = FleetFuzzer().run(seed: seed, isCalm: true) {
        Issue.record("\(failure)")
        return
      }
    }
  }
}
