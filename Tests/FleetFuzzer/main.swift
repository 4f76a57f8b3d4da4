import FleetSimulation
import Glibc

// usage: fuzz-fleet [FIRST-SEED] [SEEDS] [FAILURES]; prints failures, up to so many, as short programs, and ends with 1
// if there was one. Ahead of them goes a fleet of 1,000 hosts, which no seed makes.
let arguments = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
let first = arguments.first ?? 0
let count = arguments.dropFirst().first ?? 100_000
let limit = arguments.dropFirst(2).first ?? 10
var failures = 0
if let failure = FleetFuzzer().run(FleetProgram(hosts: 1_000, jobs: 3_000, deaths: 100, seed: first)) {
  failures += 1
  print("1,000 hosts: \(failure)\n")
}
for seed in first..<(first + count) where failures < limit {
  guard let failure = FleetFuzzer().run(seed: seed) else { continue }
  failures += 1
  print("\(failure)\n")
}
print("\(count) seeds from \(first): \(failures) failed\(failures == limit ? ", and the rest was not tried" : "")")
exit(failures == 0 ? 0 : 1)
