import Foundation
import JSONText
import ObjectGraph

/// What the suite does in a process of its own, because it looks at the memory of the whole process.
enum OwnProcessRun: String {
  /// Inserts objects, saves and resets every 1,000.
  case savesAndResets = "saves-and-resets"
  /// Makes a context with a parent, inserts an object into it, and drops it, again and again.
  case contexts

  /// The option that the suite starts itself with; for nobody else.
  static let option = "--in-own-process"

  /// Runs and prints the result.
  func run(count: Int, in folder: String) async throws {
    let store = try PeopleStore(in: folder)
    let result =
      switch self {
      case .savesAndResets: try await Self.saveAndReset(store, count)
      case .contexts: try await Self.makeContexts(store, count)
      }
    try store.coordinator.close()
    print(JSONValue.object(result).serialized())
  }

  private static func saveAndReset(_ store: PeopleStore, _ count: Int) async throws -> JSONObject {
    let values = PersonValues()
    let context = ManagedObjectContext(coordinator: store.coordinator, name: "worker")
    var early = 0
    for first in stride(from: 0, to: count, by: 1_000) {
      try await context.perform { context in
        for row in first..<first + 1_000 {
          let person = Person(context: context)
          person.firstName = values.first[row % PersonValues.count]
          person.address = values.addresses[row % PersonValues.count]
        }
        try context.save()
        context.reset()
      }
      if first + 1_000 == count / 10 { early = try residentBytes() }
    }
    // Before the check, whose reader fills a page cache of its own: 2 MB, once.
    let growth = Double(try residentBytes()) / Double(early)
    try await store.check(rows: count)
    return ["growth": .number(growth)]
  }

  private static func makeContexts(_ store: PeopleStore, _ count: Int) async throws -> JSONObject {
    let parent = ManagedObjectContext(coordinator: store.coordinator, name: "parent")
    func cycle() {
      ManagedObjectContext(parent: parent).performAndWait { _ = Person(context: $0) }
    }
    for _ in 0..<count / 10 { cycle() }
    let early = try residentBytes()
    let start = ContinuousClock.now
    for _ in 0..<count { cycle() }
    let microseconds = (ContinuousClock.now - start) / .microseconds(1) / Double(count)
    return ["microseconds": .number(microseconds), "growth": .number(Double(try residentBytes()) / Double(early))]
  }

  private static func residentBytes() throws -> Int {
    let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    guard fields.count > 1, let pages = Int(fields[1]) else { throw BenchError("/proc tells no memory of ourselves") }
    return pages * Int(getpagesize())
  }

  /// The figures that a run printed, by name.
  struct Result {
    private let values: JSONValue

    init(_ text: String) throws { values = try JSONValue(parsing: Array(text.utf8), dialect: .json) }

    subscript(_ name: String) -> Double { values[name]?.number ?? .nan }
  }
}
