import Foundation
import GraphFuzzing
import Glibc

// usage: fuzz-graph [FIRST-SEED] [SEEDS] [STEPS]; prints each failure as a short program, and ends with 1 if there was
// one.
let arguments = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
let first = arguments.first ?? 0
let count = arguments.dropFirst().first ?? 1_000
let steps = arguments.dropFirst(2).first.map(Int.init) ?? 30
let folder = FileManager.default.temporaryDirectory.appending(path: "fuzz-graph-\(getpid())")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }
let verbose = ProcessInfo.processInfo.environment["FUZZ_VERBOSE"] != nil
let fuzzer = GraphFuzzer(
  folder: folder, stepCount: steps, looksAlways: ProcessInfo.processInfo.environment["FUZZ_LOOK"] != nil,
  log: verbose ? log : nil)

@Sendable func log(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }

var failures = 0
for seed in first..<(first + count) {
  if let failure = fuzzer.run(seed: seed) {
    failures += 1
    FileHandle.standardOutput.write(Data("\(failure)\n\n".utf8))
  }
}
print("\(count) seeds from \(first), \(steps) steps each: \(failures) failed")
exit(failures == 0 ? 0 : 1)
