import ObjectGraph

/// One attribute of many fetched objects changed and saved, against plain C that updates the rows it has read before.
struct UpdateGroup: BenchGroup {
  static let name = "update"

  private let options: Options
  private let workplace: Workplace
  private var rows: Int { options.isQuick ? 10_000 : 100_000 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let program = Program(try await workplace.peer("update_rows"))
    let store = try PeopleStore(in: workplace.emptyFolder("o"))
    try await store.fill(rows: rows, PersonValues())
    var (ours, peer): ([Double], [Double]) = ([], [])
    for _ in 0..<options.pairs {
      workplace.syncDisks()
      ours.append(Double(rows) / (try await update(store)))
      workplace.syncDisks()
      peer.append(Double(rows) / (try await program.measure(store.path, "\(rows)")))
    }
    try store.coordinator.close()
    return [
      Figure(
        name: "update.fetched", unit: "rows/s", ours: ours, peer: peer, peerName: "plain C", target: .atLeast(0.5))
    ]
  }

  /// - Returns: the seconds from the first change until all are on disk.
  private func update(_ store: PeopleStore) async throws -> Double {
    let context = ManagedObjectContext(coordinator: store.coordinator, name: "editor")
    return try await context.perform { context in
      let people = try context.fetch(FetchRequest<Person>())
      guard people.count == rows else { throw BenchError("the fetch should find \(rows) people") }
      let start = ContinuousClock.now
      for person in people { person.age += 1 }
      try context.save()
      return (ContinuousClock.now - start) / .seconds(1)
    }
  }
}
