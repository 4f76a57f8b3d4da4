import FleetSimulation
import Glibc

// usage: fuzz-fleet [FIRST-SEED] [SEEDS] [FAILURES]; prints failures, up to so many, as short programs, and ends with 1
// if there was one.
let arguments = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
let first = arguments.first ?? 0
let count = arguments.dropFirst().first ?? 100_000
let limit = arguments.dropFirst(2).first ?? 10
var failures = 0
for seed in first..<(first + count) where failures < limit {
  guard let failure = FleetFuzzer().run(seed: seed) else { continue }
  failures += 1
  print("\(failure)\n")
}
print("\(count) seeds from \(first): \(failures) failed\(failures == limit ? ", and the rest was not tried" : "")")
exit(failures == 0 ? 0 : 1)
