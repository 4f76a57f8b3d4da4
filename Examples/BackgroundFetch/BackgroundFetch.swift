// Fetch IDs in the background, use objects on main.
//
//   swift run BackgroundFetch

import Foundation
import ObjectGraph
import SQLiteStore

@main
struct BackgroundFetch {
  static func main() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "BackgroundFetch-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = try PersistentContainer(
      model: People.model, store: .sqlite(at: folder.appending(path: "people.sqlite")))

    // 1,000 persons in one transaction.
    try await container.save(named: "populate") { context in
      for age in 0..<1_000 {
        let person = Person(context: context)
        person.firstName = "Number \(age)"
        person.age = Int64(age)
      }
    }

    // The slow part, the search, runs beside main. IDs may cross over to main; persons may not, says the compiler.
    let background = container.newBackgroundContext()
    let ids = try await background.perform { context in
      try context.fetchIDs(
        FetchRequest<Person>(#Predicate { $0.age >= 100 && $0.age <= 200 }, sortBy: [.ascending(\.age)]))
    }
    print("\(ids.count) persons aged 100 to 200")

    // Main makes faults of them without SQL, and reads their values in a few statements.
    await container.defaultContext.perform { main in
      let people = main.objects(with: ids).compactMap { $0 as? Person }
      print("faults:", people.filter(\.isFault).count)
      print("sum of their ages:", people.map(\.age).reduce(0, +))
    }

    // Or a page at a time: the number is known at once, and rows are read as they are looked at.
    try await container.defaultContext.perform { main in
      var request = FetchRequest<Person>(sortBy: [.descending(\.age)])
      request.fetchBatchSize = 20
      let people = try main.fetchLazily(request)
      print("\(people.count) persons; number 55 is \(people[55].firstName ?? "nobody")")
    }

    // Numbers about rows need no objects at all.
    let decades = try await background.perform { context in
      var request = FetchRequest<Person>()
      request.propertiesToFetch = [.count(), .average("age", as: "mean"), .max("age", as: "oldest")]
      return try context.fetchDictionaries(request)
    }
    print(decades)
    try container.close()
  }
}
