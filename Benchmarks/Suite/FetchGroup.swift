import Foundation
import ObjectGraph

/// Fetches whose every attribute is read, and one of IDs, against plain C and plain Swift on the same file.
///
/// All sides are measured in processor time, since they wait for nothing else: the file is in memory.
struct FetchGroup: BenchGroup {
  static let name = "fetch"

  private let options: Options
  private let workplace: Workplace
  private let values = PersonValues()
  private var rows: Int { options.isQuick ? 100_000 : 1_000_000 }
  /// One in a hundred has it.
  private static let wantedAge: Int64 = 42

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let program = Program(try await workplace.peer("fetch_rows"))
    let store = try PeopleStore(in: workplace.emptyFolder("o"))
    try await store.fill(rows: rows, values)
    let plain = PlainPeople(path: store.path)
    var (objects, cRows, structures, ids, cIDs): ([Double], [Double], [Double], [Double], [Double]) =
      ([], [], [], [], [])
    let all = FetchCheck(0..<rows, values)
    for _ in 0..<options.pairs {
      objects.append(Double(rows) / (try await read(FetchRequest<Person>(), store, expecting: all)))
      cRows.append(Double(rows) / (try await program.measure(store.path, "rows", "\(rows)")))
      structures.append(Double(rows) / (try await plain.readAll(expecting: all)))
      ids.append(Double(rows) / (try await fetchIDs(store)))
      cIDs.append(Double(rows) / (try await program.measure(store.path, "ids", "\(rows)")))
    }
    let scanned = try await readSome(store, plain, "no index")
    try plain.addIndex()
    let found = try await readSome(store, plain, "by index")
    try store.coordinator.close()
    return [
      Figure(
        name: "fetch.objects, all read", unit: "rows/s", ours: objects, peer: cRows, peerName: "plain C",
        target: .atLeast(0.5)),
      Figure(
        name: "fetch.objects, all read", unit: "rows/s", ours: objects, peer: structures, peerName: "Swift structs",
        target: .atLeast(1)),
      scanned, found,
      Figure(name: "fetch.ids", unit: "rows/s", ours: ids, peer: cIDs, peerName: "plain C", target: .atLeast(0.7)),
    ]
  }

  /// Those of one age, by name: a hundredth of the rows.
  private func readSome(_ store: PeopleStore, _ plain: PlainPeople, _ access: String) async throws -> Figure {
    let some = FetchCheck(stride(from: Int(Self.wantedAge), to: rows, by: 100), values)
    var (ours, peer): ([Double], [Double]) = ([], [])
    for _ in 0..<options.pairs {
      let age = Self.wantedAge
      let request = try FetchRequest<Person>(#Predicate { $0.age == age }, sortBy: [.ascending(\.lastName)])
      ours.append(Double(some.count) / (try await read(request, store, expecting: some)))
      peer.append(Double(some.count) / (try await plain.read(ofAge: age, expecting: some)))
    }
    return Figure(
      name: "fetch.objects, filtered and sorted, \(access)", unit: "rows/s", ours: ours, peer: peer,
      peerName: "Swift structs", target: .atLeast(1))
  }

  /// Fetches objects and reads texts as strings; the peer in C reads them where they lie.
  private func read(
    _ request: FetchRequest<Person>, _ store: PeopleStore, expecting expected: FetchCheck
  ) async throws -> Double {
    let context = ManagedObjectContext(coordinator: store.coordinator, name: "reader")
    return try await context.perform { context in
      let start = ThreadClock.seconds
      let people = try context.fetch(request)
      var seen = FetchCheck()
      for person in people { seen.add(person.firstName, person.lastName, person.age, person.address) }
      let seconds = ThreadClock.seconds - start
      try seen.compare(with: expected)
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
