import Foundation
import ObjectGraph

/// A store of people in a folder of its own, and the coordinator that has it open.
struct PeopleStore {
  let coordinator: PersistentStoreCoordinator
  let path: String
  /// The most rows that are saved together.
  static let rowsPerSave = 10_000

  /// An empty store in a new folder.
  init(in folder: String) throws {
    path = folder + "/ours.sqlite"
    coordinator = PersistentStoreCoordinator(model: People.model)
    try coordinator.open(.sqlite(at: URL(filePath: path)))
  }

  /// An empty store that is described.
  ///
  /// - Parameter path: its name in messages.
  init(_ description: PersistentStoreDescription, path: String) throws {
    self.path = path
    coordinator = PersistentStoreCoordinator(model: People.model)
    try coordinator.open(description)
  }

  /// Adds rows as batches, a save every ``rowsPerSave`` of them.
  func fill(rows: Int, _ values: PersonValues) async throws {
    let context = ManagedObjectContext(coordinator: coordinator, name: "filler")
    for range in Self.saves(of: rows) {
      try await context.perform { context in
        try context.insert(values.batch(of: range, for: coordinator))
        try context.save()
      }
    }
  }

  /// The rows of each save.
  static func saves(of rows: Int) -> [Range<Int>] {
    stride(from: 0, to: rows, by: rowsPerSave).map { $0..<min($0 + rowsPerSave, rows) }
  }

  /// Both sides must have done the work.
  func check(rows: Int) async throws {
    let context = ManagedObjectContext(coordinator: coordinator, name: "checker")
    let count = try await context.perform { try $0.count(for: FetchRequest<Person>()) }
    guard count == rows else { throw BenchError("\(path) should hold \(rows) objects, but has \(count)") }
  }
}
