import Foundation
import JSONText

/// How long main is occupied at a time while all workers encode pictures of five megapixels into the store.
///
/// The peer is the figure that the original design reported for its main context: 15 ms.
struct OccupationGroup: BenchGroup {
  static let name = "occupation"

  private let options: Options
  private let workplace: Workplace
  private static let originalMilliseconds = 15.0

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let pictures = try await Photographs(workplace).ofFiveMegapixels(4)
    var (p99, longest): ([Double], [Double]) = ([], [])
    var peak = 0
    for _ in 0..<options.pairs {
      let run = try await encode(pictures, count: options.isQuick ? 10 : 60)
      p99.append(run.p99 * 1000)
      longest.append(run.longest * 1000)
      peak = max(peak, run.peak)
    }
    let original = p99.map { _ in Self.originalMilliseconds }
    return [
      Figure(
        name: "main.occupation p99", unit: "ms", ours: p99, peer: original, peerName: "the original design",
        measure: .ours, target: .atMost(1), peakMemory: peak),
      Figure(
        name: "main.occupation longest", unit: "ms", ours: longest, peer: original, peerName: "the original design"),
    ]
  }

  private func encode(
    _ pictures: [String], count: Int
  ) async throws -> (p99: Double, longest: Double, peak: Int) {
    let daemon = try DaemonRun(workplace)
    let jobs = (0..<count).map { index -> JSONValue in
      let output: JSONValue = .object([
        "path": .string("\(daemon.root)/\(index).jpg"), "format": "jpeg", "width": 2592, "height": 1944,
        "quality": 85,
      ])
      return .object([
        "type": "image.encode",
        "arguments": .object([
          "input": .string(pictures[index % pictures.count]), "outputs": .array([output]),
          "store": .object(["title": .string("picture \(index)")]),
        ]),
      ])
    }
    try daemon.prepare(jobs)
    workplace.syncDisks()
    _ = try await Program(try await workplace.peer("drop_files")).measure(daemon.spool, "\(count)")
    let status = try daemon.status()
    guard status["jobs"]?["completed"]?.integer == Int64(count), let p99 = status["main"]?["p99Seconds"]?.number,
      let longest = status["main"]?["maxSeconds"]?.number
    else { throw BenchError("the pictures were not all encoded: \(status.serialized())") }
    let peak = try daemon.peakMemory()
    try await daemon.stop()
    return (p99, longest, peak)
  }
}
