import ObjectGraph
import ObjectModel

/// A fetch of all objects of which every attribute is read, and one of IDs, against plain C on the same file.
///
/// Both sides are measured in processor time, since they wait for nothing else: the file is in memory.
struct FetchGroup: BenchGroup {
  static let name = "fetch"

  private let options: Options
  private let workplace: Workplace
  private var rows: Int { options.isQuick ? 100_000 : 1_000_000 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let program = Program(try await workplace.peer("fetch_rows"))
    let store = try PeopleStore(in: workplace.emptyFolder("o"))
    try await store.fill(rows: rows, PersonValues())
    var (objects, peerRows, ids, peerIDs): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    for _ in 0..<options.pairs {
      objects.append(Double(rows) / (try await readObjects(store)))
      peerRows.append(Double(rows) / (try await program.measure(store.path, "rows", "\(rows)")))
      ids.append(Double(rows) / (try await fetchIDs(store)))
      peerIDs.append(Double(rows) / (try await program.measure(store.path, "ids", "\(rows)")))
    }
    try store.coordinator.close()
    return [
      Figure(
        name: "fetch.objects, all read", unit: "rows/s", ours: objects, peer: peerRows, peerName: "plain C",
        target: .atLeast(0.47)),
      Figure(name: "fetch.ids", unit: "rows/s", ours: ids, peer: peerIDs, peerName: "plain C", target: .atLeast(0.7)),
    ]
  }

  /// Reads texts as strings; the peer reads them where they lie.
  private func readObjects(_ store: PeopleStore) async throws -> Double {
    let context = ManagedObjectContext(coordinator: store.coordinator, name: "reader")
    return try await context.perform { context in
      let start = ThreadClock.seconds
      let people = try context.fetch(FetchRequest<Person>())
      var (bytes, ages) = (0, Int64(0))
      for person in people {
        bytes += person.firstName.byteCount + person.lastName.byteCount + person.address.byteCount
        ages += person.age
      }
      let seconds = ThreadClock.seconds - start
      guard people.count == rows, ages == Int64(rows) / 100 * 4950, bytes > rows else {
        throw BenchError("the fetch should find \(rows) people, but found \(people.count) with \(bytes) bytes")
      }
      return seconds
    }
  }

  private func fetchIDs(_ store: PeopleStore) async throws -> Double {
    let context = ManagedObjectContext(coordinator: store.coordinator, name: "reader")
    return try await context.perform { context in
      let start = ThreadClock.seconds
      let ids = try context.fetchIDs(FetchRequest<Person>())
      let seconds = ThreadClock.seconds - start
      guard ids.count == rows else { throw BenchError("the fetch should find \(rows) IDs, but found \(ids.count)") }
      return seconds
    }
  }
}

extension String? {
  fileprivate var byteCount: Int { self?.utf8.count ?? 0 }
}
