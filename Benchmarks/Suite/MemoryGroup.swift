/// What stays in memory after many saves and many contexts, each measured in a process of its own.
struct MemoryGroup: BenchGroup {
  static let name = "memory"

  private let options: Options
  private let workplace: Workplace
  private var scale: Int { options.isQuick ? 10 : 1 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    var (saves, microseconds, contexts): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<options.pairs {
      saves += [try await run(.savesAndResets, count: 1_000_000 / scale)["growth"]]
      let cycles = try await run(.contexts, count: 100_000 / scale)
      microseconds.append(cycles["microseconds"])
      contexts.append(cycles["growth"])
    }
    return [
      Figure(
        name: "memory after 1,000,000 objects by memory after 100,000, reset every 1,000", unit: "", ours: saves,
        peer: [], peerName: "", measure: .ours, target: .atMost(1.1)),
      Figure(
        name: "context made, used and dropped", unit: "us", ours: microseconds, peer: [], peerName: "",
        measure: .ours, target: .atMost(20)),
      Figure(
        name: "memory after 100,000 contexts by memory after 10,000", unit: "", ours: contexts, peer: [], peerName: "",
        measure: .ours, target: .atMost(1.1)),
    ]
  }

  private func run(_ run: OwnProcessRun, count: Int) async throws -> OwnProcessRun.Result {
    let folder = try workplace.emptyFolder("o")
    let text = try await Program(workplace.program("bobbin-bench")).run(
      OwnProcessRun.option, run.rawValue, "\(count)", folder)
    return try OwnProcessRun.Result(text)
  }
}
