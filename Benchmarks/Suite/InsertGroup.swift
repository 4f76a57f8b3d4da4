import ObjectGraph

/// Typed objects inserted one by one through worker, main and writer, against plain C with one prepared statement.
///
/// The honest form waits for each save before it goes on, as the peer does, so both sides use one processor at a time.
struct InsertGroup: BenchGroup {
  static let name = "insert"

  private let options: Options
  private let workplace: Workplace
  private let values = PersonValues()
  private var rows: Int { options.isQuick ? 100_000 : 1_000_000 }
  private static let fewRows = 10_000
  /// A single run of few rows is too short to be measured.
  private static let fewRowsRuns = 10

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let program = Program(try await workplace.peer("insert_rows"))
    var (overlapped, sequential, peer, growth, peerGrowth): ([Double], [Double], [Double], [Double], [Double]) =
      ([], [], [], [], [])
    for _ in 0..<options.pairs {
      let many = try await rate(rows) { try await insert(rows, overlaps: false) }
      let manyOfPeer = try await rate(rows) { try await insertWithPeer(program, rows) }
      let few = try await rateOfFew { try await insert(Self.fewRows, overlaps: false) }
      let fewOfPeer = try await rateOfFew { try await insertWithPeer(program, Self.fewRows) }
      sequential.append(many)
      peer.append(manyOfPeer)
      growth.append(many / few)
      peerGrowth.append(manyOfPeer / fewOfPeer)
      overlapped.append(try await rate(rows) { try await insert(rows, overlaps: true) })
    }
    return [
      Figure(
        name: "insert.objects, each save waited for", unit: "rows/s", ours: sequential, peer: peer,
        peerName: "plain C", target: .atLeast(0.65)),
      Figure(
        name: "insert.objects, saves overlap", unit: "rows/s", ours: overlapped, peer: peer, peerName: "plain C",
        target: .atLeast(0.8)),
      Figure(
        name: "insert.growth, rate of \(rows) by rate of \(Self.fewRows)", unit: "", ours: growth, peer: peerGrowth,
        peerName: "plain C", measure: .ours, target: .atLeast(0.9)),
    ]
  }

  private func rate(_ rows: Int, _ measure: () async throws -> Double) async throws -> Double {
    Double(rows) / (try await measure())
  }

  private func rateOfFew(_ measure: () async throws -> Double) async throws -> Double {
    var seconds = 0.0
    for _ in 0..<Self.fewRowsRuns { seconds += try await measure() }
    return Double(Self.fewRows * Self.fewRowsRuns) / seconds
  }

  private func insertWithPeer(_ program: Program, _ rows: Int) async throws -> Double {
    let store = try workplace.emptyFolder("p") + "/peer.sqlite"
    workplace.syncDisks()
    return try await program.measure(store, "\(rows)", "\(PeopleStore.rowsPerSave)")
  }

  private func insert(_ rows: Int, overlaps: Bool) async throws -> Double {
    let store = try PeopleStore(in: workplace.emptyFolder("o"))
    workplace.syncDisks()
    return try await store.insertObjects(rows, values, overlaps: overlaps)
  }
}

extension PeopleStore {
  /// Inserts objects in a worker, whose saves go to main and to the writer, and closes the store.
  ///
  /// - Parameter overlaps: whether the worker goes on while the writer flushes, as in the daemon.
  /// - Returns: the seconds until all rows are on disk.
  func insertObjects(_ rows: Int, _ values: PersonValues, overlaps: Bool) async throws -> Double {
    let writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
    let main = ManagedObjectContext(parent: writer, name: "main")
    let worker = ManagedObjectContext(parent: main, name: "worker")
    let start = ContinuousClock.now
    var flush: Task<Void, any Error>?
    for range in Self.saves(of: rows) {
      try await worker.perform { context in
        for row in range {
          let value = row % PersonValues.count
          let person = Person(context: context)
          person.firstName = values.first[value]
          person.lastName = values.last[value]
          person.age = Int64(row % 100)
          person.address = values.addresses[value]
        }
        try context.save()
      }
      try await main.perform { try $0.save() }
      try await flush?.value
      flush = Task { try await writer.perform { try $0.save() } }
      if !overlaps { try await flush?.value }
    }
    try await flush?.value
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    try await check(rows: rows)
    try coordinator.close()
    return seconds
  }
}
