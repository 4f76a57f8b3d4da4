import Foundation

/// A CSV file through the running daemon to disk, against `sqlite3 .import` of the same file, and what else imports do.
///
/// The peer's table has the same columns but `_version`; its implicit rowid is our `_key`. The peer imports in one
/// transaction (that is how `.import` works) with the store's pragmas; both sides pay for their process starts.
struct ImportGroup: BenchGroup {
  static let name = "import"

  private let options: Options
  private let imports: ImportRuns
  private var rows: Int { options.isQuick ? 100_000 : 1_000_000 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    imports = ImportRuns(workplace)
  }

  func run() async throws -> [Figure] {
    try await plain() + updates() + besides() + againstPython()
  }

  /// CSV against the shell, NDJSON against CSV, and ten times as many rows.
  private func plain() async throws -> [Figure] {
    let csv = imports.workplace.path + "/people.csv"
    let json = imports.workplace.path + "/people.ndjson"
    try PersonValues().writeCSV(rows: rows, to: csv)
    try PersonValues().writeNDJSON(rows: rows, to: json)
    var (ours, peer, lines): ([Double], [Double], [Double]) = ([], [], [])
    var peaks: [Int] = []
    for _ in 0..<options.pairs {
      let mine = try await imports.people(csv, rows: rows)
      ours.append(mine.seconds)
      peaks.append(mine.peak)
      peer.append(try await imports.peopleByShell(csv, rows: rows))
      lines.append(try await imports.people(json, rows: rows).seconds)
    }
    let larger = imports.workplace.path + "/more-people.csv"
    try PersonValues().writeCSV(rows: 10 * rows, to: larger)
    let large = try await imports.people(larger, rows: 10 * rows)
    try FileManager.default.removeItem(atPath: larger)
    let mebibytes = { (bytes: Int) in Double(bytes) / 1_048_576 }
    return [
      Figure(
        name: "import.time", unit: "s", ours: ours, peer: peer, peerName: "sqlite3 .import", target: .atMost(0.75),
        peakMemory: peaks.max()),
      Figure(
        name: "import.time of NDJSON", unit: "s", ours: lines, peer: ours, peerName: "CSV", target: .atMost(1.5)),
      Figure(
        name: "import.time of 10x the rows, per row", unit: "s", ours: [large.seconds], peer: [ours.median * 10],
        peerName: "10 imports", target: .atMost(1.1)),
      Figure(
        name: "import.memory", unit: "MiB", ours: peaks.map(mebibytes), peer: [], peerName: "", measure: .ours,
        target: .atMost(150), peakMemory: peaks.max()),
      Figure(
        name: "import.memory of 10x the rows", unit: "MiB", ours: [mebibytes(large.peak)], peer: [], peerName: "",
        measure: .ours, target: .atMost(150), peakMemory: large.peak),
    ]
  }

  /// As many rows as there are objects, each of which gets other values, against plain C.
  private func updates() async throws -> [Figure] {
    let before = imports.workplace.path + "/members.csv"
    let after = imports.workplace.path + "/changed-members.csv"
    try PersonValues().writeMembers(rows: rows, to: before, version: 0)
    try PersonValues().writeMembers(rows: rows, to: after, version: 1)
    var (ours, peer): ([Double], [Double]) = ([], [])
    for _ in 0..<options.pairs {
      ours.append(try await imports.members(before, after, rows: rows))
      peer.append(try await imports.membersByPeer(before, after, rows: rows))
    }
    return [
      Figure(
        name: "import.update", unit: "s", ours: ours, peer: peer, peerName: "plain C", target: .atMost(1.5))
    ]
  }

  /// What a small job waits for beside an import.
  private func besides() async throws -> [Figure] {
    let csv = imports.workplace.path + "/people.csv"
    let latencies = try await imports.smallJobs(besides: csv)
    return [
      Figure(
        name: "import.latency of a small job beside it, longest", unit: "ms", ours: [latencies.max() ?? .nan], peer: [],
        peerName: "", measure: .ours, target: .atMost(250)),
      Figure(
        name: "import.latency of a small job beside it, median", unit: "ms", ours: [latencies.median], peer: [],
        peerName: "", measure: .ours),
    ]
  }

  /// The peer finds types as we do, unless it is told not to.
  private func againstPython() async throws -> [Figure] {
    let program = FileManager.default.currentDirectoryPath + "/.build/sqlite-utils/bin/sqlite-utils"
    guard FileManager.default.isExecutableFile(atPath: program) else {
      print("import.rate against sqlite-utils is left out: scripts/bench could not install it from PyPI")
      return []
    }
    let csv = imports.workplace.path + "/people.csv"
    var (ours, peer, untyped): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<options.pairs {
      ours.append(Double(rows) / (try await imports.people(csv, rows: rows).seconds))
      peer.append(Double(rows) / (try await imports.peopleByPython(program, csv, rows: rows)))
      untyped.append(
        Double(rows) / (try await imports.peopleByPython(program, csv, rows: rows, "--no-detect-types")))
    }
    return [
      Figure(
        name: "import.rate", unit: "rows/s", ours: ours, peer: peer, peerName: "sqlite-utils insert",
        target: .atLeast(20)),
      Figure(
        name: "import.rate, peer without types", unit: "rows/s", ours: ours, peer: untyped,
        peerName: "sqlite-utils insert --no-detect-types"),
    ]
  }
}
