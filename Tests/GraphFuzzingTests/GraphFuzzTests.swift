import Foundation
import GraphFuzzing
import TestSupport
import Testing

/// Random programs on random models, beside a plain model of what contexts promise.
@Suite struct GraphFuzzTests {
  private static let seedCount =
    ProcessInfo.processInfo.environment["BOBBIN_GRAPH_SEEDS"].flatMap(UInt64.init) ?? 500

  @Test(arguments: 0..<10) func contextsDoWhatTheModelSays(part: UInt64) throws {
    let directory = try TemporaryDirectory()
    let fuzzer = GraphFuzzer(folder: directory.url)
    let size = (Self.seedCount + 9) / 10
    for seed in part * size..<min((part + 1) * size, Self.seedCount) {
      if let failure = fuzzer.run(seed: seed) { Issue.record("\(failure)") }
    }
  }
}
