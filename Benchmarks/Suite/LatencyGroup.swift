import ObjectGraph
import Synchronization

/// How long a fetch of one object takes on main while another context reads all objects of the same store.
///
/// The peer reads rows by key in the same manner, with a scan on a second thread, and so tells how busy the machine is.
struct LatencyGroup: BenchGroup {
  static let name = "latency"

  private let options: Options
  private let workplace: Workplace
  private var rows: Int { options.isQuick ? 100_000 : 1_000_000 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let program = Program(try await workplace.peer("point_reads"))
    let store = try PeopleStore(in: workplace.emptyFolder("o"))
    try await store.fill(rows: rows, PersonValues())
    var (ours, peer): ([Double], [Double]) = ([], [])
    for _ in 0..<options.pairs {
      ours.append(try await latency(store) * 1000)
      peer.append(try await program.measure(store.path, "\(rows)") * 1000)
    }
    try store.coordinator.close()
    return [
      Figure(
        name: "latency of a point fetch during a scan, p99", unit: "ms", ours: ours, peer: peer, peerName: "plain C",
        measure: .ours, target: .atMost(10))
    ]
  }

  /// - Returns: the seconds that 99 of 100 fetches did not exceed.
  private func latency(_ store: PeopleStore) async throws -> Double {
    let durations = OccupationRecorder()
    let writer = ManagedObjectContext(coordinator: store.coordinator, name: "writer")
    let main = ManagedObjectContext(
      parent: writer, name: "main", executor: ContextExecutor(label: "main", occupation: durations))
    let background = ManagedObjectContext(coordinator: store.coordinator, name: "background")
    let ids = try await background.perform { try $0.fetchIDs(FetchRequest<Person>()) }
    let isScanning = Atomic(true)
    async let scanned = background.perform { context in
      defer { isScanning.store(false, ordering: .relaxed) }
      return try context.fetch(FetchRequest<Person>()).count
    }
    durations.reset()
    var place = 1
    while isScanning.load(ordering: .relaxed) {
      place = (place * 48271) % ids.count
      let id = ids[place]
      try main.performAndWait { context in
        guard let person = try context.existingObject(with: id) as? Person, person.address != nil else {
          throw BenchError("\(id) should be a person with an address")
        }
      }
    }
    guard try await scanned == rows, durations.count > 0 else { throw BenchError("the scan did not see all rows") }
    return durations.percentile(0.99)
  }
}
