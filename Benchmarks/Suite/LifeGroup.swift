import Foundation

/// What a daemon keeps in memory after a long life: idle after many jobs and imported rows, by idle after few.
struct LifeGroup: BenchGroup {
  static let name = "life"

  private static let jobsPerRequest = 1_000
  /// Long enough that the daemon has given back what it does not need.
  private static let calm = Duration.seconds(15)
  private let options: Options
  private let workplace: Workplace
  private var jobs: Int { options.isQuick ? 20_000 : 200_000 }
  private var rows: Int { options.isQuick ? 100_000 : 1_000_000 }
  /// How many times as many jobs, and rows, the long life has.
  private var length: (jobs: Int, rows: Int) { options.isLong ? (50, 100) : (5, 10) }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let csv = workplace.path + "/people.csv"
    try PersonValues().writeCSV(rows: rows, to: csv)
    let daemon = try DaemonRun(workplace)
    let body =
      "{\"jobs\":[" + Array(repeating: "{\"type\":\"noop\"}", count: Self.jobsPerRequest).joined(separator: ",") + "]}"
    let importing = #"{"type": "import", "arguments": {"input": "\#(csv)", "entity": "Person"}}"#
    var idle: [Int] = []
    var imports = 0
    for round in 1...length.jobs {
      for _ in 0..<(jobs / Self.jobsPerRequest) { try daemon.send("POST", "/v1/jobs", wait: true, body) }
      while imports < (round == 1 ? 1 : round * length.rows / length.jobs) {
        try daemon.send("POST", "/v1/jobs", wait: true, importing)
        imports += 1
      }
      if round == 1 || round == length.jobs {
        try await Task.sleep(for: Self.calm)
        idle.append(try daemon.memory())
      }
    }
    let status = try daemon.status()
    guard status["jobs"]?["discarded"]?.integer ?? 0 == 0 else {
      throw BenchError("not all jobs were completed: \(status.serialized())")
    }
    let peak = try daemon.peakMemory()
    try await daemon.stop()
    let mebibytes = idle.map { Double($0) / 1_048_576 }
    return [
      Figure(
        name: "life.memory after \(jobs * length.jobs) jobs and \(rows * length.rows) rows", unit: "MiB",
        ours: [mebibytes[1]], peer: [mebibytes[0]], peerName: "\(jobs) and \(rows)", target: .atMost(1.1),
        peakMemory: peak)
    ]
  }
}
