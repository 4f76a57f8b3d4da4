import Foundation
import JSONText

/// A CSV file through the running daemon to disk, against `sqlite3 .import` of the same file.
///
/// The peer's table has the same columns but `_version`; its implicit rowid is our `_key`. The peer imports in one
/// transaction (that is how `.import` works) with the store's pragmas; both sides pay for their process starts.
struct ImportGroup: BenchGroup {
  static let name = "import"

  private let options: Options
  private let workplace: Workplace
  private var rows: Int { options.isQuick ? 100_000 : 1_000_000 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let file = workplace.path + "/people.csv"
    try PersonValues().writeCSV(rows: rows, to: file)
    var (ours, peer): ([Double], [Double]) = ([], [])
    var peaks: [Int] = []
    for _ in 0..<options.pairs {
      let mine = try await importWithDaemon(file, rows: rows)
      ours.append(mine.seconds)
      peaks.append(mine.peak)
      peer.append(try await importWithShell(file))
    }
    let larger = workplace.path + "/more-people.csv"
    try PersonValues().writeCSV(rows: 3 * rows, to: larger)
    let large = try await importWithDaemon(larger, rows: 3 * rows)
    let mebibytes = { (bytes: Int) in Double(bytes) / 1_048_576 }
    let growth = mebibytes(large.peak) - peaks.map(mebibytes).median
    return [
      Figure(
        name: "import.time", unit: "s", ours: ours, peer: peer, peerName: "sqlite3 .import", target: .atMost(1.2),
        peakMemory: peaks.max()),
      Figure(
        name: "import.memory", unit: "MiB", ours: peaks.map(mebibytes), peer: [], peerName: "", measure: .ours,
        target: .atMost(150), peakMemory: peaks.max()),
      // How many chunks are alive at the same time differs from run to run; the input grows by eight times the target.
      Figure(
        name: "import.memory of 3x the rows, growth", unit: "MiB", ours: [growth], peer: [], peerName: "",
        measure: .ours, target: .atMost(16), peakMemory: large.peak),
    ]
  }

  private func importWithDaemon(_ file: String, rows: Int) async throws -> (seconds: Double, peak: Int) {
    let daemon = try DaemonRun(workplace)
    let job: JSONValue = .object([
      "type": "import", "arguments": .object(["input": .string(file), "format": "csv", "entity": "Person"]),
    ])
    let jobFile = workplace.path + "/import.json"
    try Data(job.serialized().utf8).write(to: URL(filePath: jobFile))
    workplace.settle()
    let start = ContinuousClock.now
    try await Program(workplace.program("bobbinctl")).run("--root", daemon.root, "submit", "--wait", jobFile)
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let peak = try daemon.peakMemory()
    try await check(daemon.store, rows: rows)
    try await daemon.stop()
    return (seconds, peak)
  }

  private func importWithShell(_ file: String) async throws -> Double {
    let folder = try workplace.emptyFolder("p")
    let store = folder + "/peer.sqlite"
    let script = """
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA temp_store = MEMORY;
      CREATE TABLE Person (firstName TEXT, lastName TEXT, age INTEGER, address TEXT);
      .import --csv --skip 1 '\(file)' Person
      """
    try Data(script.utf8).write(to: URL(filePath: folder + "/import.sql"))
    workplace.settle()
    let start = ContinuousClock.now
    try await Program(try workplace.tool("sqlite3")).run("-batch", store, ".read '\(folder)/import.sql'")
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    try await check(store, rows: rows)
    return seconds
  }

  /// Both sides must have done the work.
  private func check(_ store: String, rows: Int) async throws {
    let found = try await Program(try workplace.tool("sqlite3")).run(
      store, "SELECT count(*), sum(age), count(DISTINCT address) FROM Person")
    let ages = (rows / 100) * 4950
    guard found.trimmingCharacters(in: .newlines) == "\(rows)|\(ages)|\(rows)" else {
      throw BenchError("\(store) should hold \(rows) rows with distinct addresses, but has \(found)")
    }
  }
}
