import ObjectGraph

/// Rows inserted without objects, against plain C with one prepared statement.
///
/// Making what is inserted from texts is part of our time.
struct BatchInsertGroup: BenchGroup {
  static let name = "batch"

  private let options: Options
  private let workplace: Workplace
  private let values = PersonValues()
  private var rows: Int { options.isQuick ? 100_000 : 1_000_000 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let program = Program(try await workplace.peer("insert_rows"))
    var (filled, saved, dictionaries, peer): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    for _ in 0..<options.pairs {
      filled.append(try await rate(insertFilledRows))
      let path = try workplace.emptyFolder("p") + "/peer.sqlite"
      workplace.syncDisks()
      peer.append(Double(rows) / (try await program.measure(path, "\(rows)", "\(PeopleStore.rowsPerSave)")))
      saved.append(try await rate { try await $0.fill(rows: rows, values) })
      dictionaries.append(try await rate(insertDictionaries))
    }
    return [
      figure("request that fills rows", filled, peer, target: .atLeast(0.85)),
      figure("saves of packed rows, as in imports", saved, peer, target: .atLeast(0.85)),
      figure("request with a dictionary per row", dictionaries, peer, target: nil),
    ]
  }

  private func figure(_ name: String, _ ours: [Double], _ peer: [Double], target: Figure.Target?) -> Figure {
    Figure(
      name: "batch.insert, " + name, unit: "rows/s", ours: ours, peer: peer, peerName: "plain C", target: target)
  }

  private func rate(_ insert: (PeopleStore) async throws -> Void) async throws -> Double {
    let store = try PeopleStore(in: workplace.emptyFolder("o"))
    workplace.syncDisks()
    let start = ContinuousClock.now
    try await insert(store)
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    try await store.check(rows: rows)
    try store.coordinator.close()
    return Double(rows) / seconds
  }

  /// In one transaction, a row at a time, straight into columns.
  private func insertFilledRows(_ store: PeopleStore) async throws {
    let request = BatchInsertRequest(Person.self) { [rows, values] row in
      if row.number == rows { return true }
      let value = row.number % PersonValues.count
      row.set(\.firstName, to: values.first[value])
      row.set(\.lastName, to: values.last[value])
      row.set(\.age, to: Int64(row.number % 100))
      row.set(\.address, to: values.addresses[value])
      return false
    }
    let context = ManagedObjectContext(coordinator: store.coordinator, name: "importer")
    try await context.perform { _ = try $0.execute(request) }
  }

  /// In one transaction, a row at a time, each a dictionary first.
  private func insertDictionaries(_ store: PeopleStore) async throws {
    let request = BatchInsertRequest(entity: Person.entityName) { (row: Int) -> BatchInsertRequest.Values? in
      if row == rows { return nil }
      let value = row % PersonValues.count
      return [
        "firstName": values.first[value], "lastName": values.last[value], "age": row % 100,
        "address": values.addresses[value],
      ]
    }
    let context = ManagedObjectContext(coordinator: store.coordinator, name: "importer")
    try await context.perform { _ = try $0.execute(request) }
  }
}
