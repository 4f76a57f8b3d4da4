import ObjectGraph

/// Rows inserted as batches, without objects, against plain C with one prepared statement.
///
/// Making the batches from texts is part of our time.
struct BatchInsertGroup: BenchGroup {
  static let name = "batch"

  private let options: Options
  private let workplace: Workplace
  private var rows: Int { options.isQuick ? 100_000 : 1_000_000 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let values = PersonValues()
    let program = Program(try await workplace.peer("insert_rows"))
    var (ours, peer): ([Double], [Double]) = ([], [])
    for _ in 0..<options.pairs {
      let store = try PeopleStore(in: workplace.emptyFolder("o"))
      workplace.settle()
      let start = ContinuousClock.now
      try await store.fill(rows: rows, values)
      ours.append(Double(rows) / ((ContinuousClock.now - start) / .seconds(1)))
      try await store.check(rows: rows)
      try store.coordinator.close()
      let path = try workplace.emptyFolder("p") + "/peer.sqlite"
      workplace.settle()
      peer.append(Double(rows) / (try await program.measure(path, "\(rows)", "\(PeopleStore.rowsPerSave)")))
    }
    return [
      Figure(
        name: "batch.insert", unit: "rows/s", ours: ours, peer: peer, peerName: "plain C", target: .atLeast(0.85))
    ]
  }
}
