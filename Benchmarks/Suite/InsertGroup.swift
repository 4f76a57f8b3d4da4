import Foundation
import ObjectGraph
import ObjectModel
import SQLiteStore

/// Typed objects inserted one by one through worker, main and writer, against plain C with one prepared statement.
struct InsertGroup {
  private let options: Options
  private let workplace: Workplace
  private var rows: Int { options.isQuick ? 30_000 : 300_000 }
  private static let rowsPerSave = 10_000

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let values = PersonValues()
    let program = Program(try await workplace.peer("insert_rows"))
    var (overlapped, sequential, peer): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<options.pairs {
      overlapped.append(Double(rows) / (try await insert(values, overlaps: true)))
      let store = try workplace.emptyFolder("p") + "/peer.sqlite"
      workplace.settle()
      peer.append(Double(rows) / (try await program.measure(store, "\(rows)", "\(Self.rowsPerSave)")))
      sequential.append(Double(rows) / (try await insert(values, overlaps: false)))
    }
    return [
      Figure(
        name: "insert.objects", unit: "rows/s", ours: overlapped, peer: peer, peerName: "plain C",
        target: .atLeast(0.4)),
      Figure(
        name: "insert.objects, each save waited for", unit: "rows/s", ours: sequential, peer: peer,
        peerName: "plain C"),
    ]
  }

  /// - Parameter overlaps: whether the worker goes on while the writer flushes, as in the daemon.
  /// - Returns: the seconds until all rows are on disk.
  private func insert(_ values: PersonValues, overlaps: Bool) async throws -> Double {
    let folder = try workplace.emptyFolder("o")
    let coordinator = PersistentStoreCoordinator(model: People.model)
    try coordinator.open(.sqlite(at: URL(filePath: folder + "/ours.sqlite")))
    let writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
    let main = ManagedObjectContext(parent: writer, name: "main")
    let worker = ManagedObjectContext(parent: main, name: "worker")
    workplace.settle()
    let start = ContinuousClock.now
    var flush: Task<Void, any Error>?
    for first in stride(from: 0, to: rows, by: Self.rowsPerSave) {
      let range = first..<min(first + Self.rowsPerSave, rows)
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
    let count = try await writer.perform { try $0.count(for: FetchRequest<Person>()) }
    guard count == rows else { throw BenchError("the store should hold \(rows) objects, but has \(count)") }
    try coordinator.close()
    return seconds
  }
}
