// Fetch IDs in the background, use objects on main.
//
//   swift run BackgroundFetch
//
//   coordinator ◄── main
//               ◄── background, which searches

import Foundation
import ObjectGraph
import Synchronization

@main
struct BackgroundFetch {
  static func main() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "BackgroundFetch-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Every SELECT is counted, to show what an access costs.
    let selects = Atomic(0)
    var options = SQLiteStoreOptions()
    options.statementLog = { if $0.sql.hasPrefix("SELECT") { selects.add(1, ordering: .relaxed) } }
    let coordinator = PersistentStoreCoordinator(model: People.model)
    try coordinator.open(.sqlite(at: folder.appending(path: "people.sqlite"), options: options))
    let main = ManagedObjectContext(coordinator: coordinator, name: "main", executor: .main)
    let background = ManagedObjectContext(coordinator: coordinator, name: "background")

    // A thousand inserts are one transaction, because they are one save.
    try await main.perform { main in
      for age in 0..<1_000 {
        let person = Person(context: main)
        person.firstName = "Number \(age)"
        person.age = Int64(age)
      }
      try main.save()
      // No result of the search may come from main's memory, nor its values.
      main.reset()
    }

    // The slow part runs beside main. It makes no object, and IDs may cross over; persons may not, says the compiler:
    //   let people = try await background.perform { try $0.fetch(request) }
    //   error: type 'Person' does not conform to the 'Sendable' protocol
    let ids = try await background.perform { context in
      let ids = try context.fetchIDs(
        FetchRequest<Person>(#Predicate { $0.age >= 100 && $0.age <= 200 }, sortBy: [.ascending(\.age)]))
      print("\(ids.count) persons aged 100 to 200; the background has \(context.registeredObjects.count) objects")
      return ids
    }

    // Main makes faults of the IDs without SQL. The first value that is read brings those of its neighbours along.
    await main.perform { main in
      selects.store(0, ordering: .relaxed)
      let people = main.objects(with: ids).compactMap { $0 as? Person }
      print("main has \(people.filter(\.isFault).count) faults, by \(selects.load(ordering: .relaxed)) SELECTs")
      let sum = people.map(\.age).reduce(0, +)
      print("their ages add up to \(sum), by \(selects.load(ordering: .relaxed)) SELECTs")
    }

    // Or a page at a time: the number is known at once, and rows are read as they are looked at.
    try await main.perform { main in
      var request = FetchRequest<Person>(sortBy: [.descending(\.age)])
      request.fetchBatchSize = 20
      let people = try main.fetchLazily(request)
      print("\(people.count) persons; number 55 is \(people[55].firstName ?? "nobody")")
    }

    // Numbers about rows need no objects at all.
    try await background.perform { context in
      var request = FetchRequest<Person>()
      request.propertiesToFetch = [.count(), .average("age", as: "mean"), .max("age", as: "oldest")]
      for numbers in try context.fetchDictionaries(request) {
        for (name, value) in numbers.sorted(by: { $0.key < $1.key }) { print("\(name): \(value)") }
      }
    }

    // Between the search and the use a row may go. That is an error or an empty object, never a crash.
    try await background.perform { context in
      context.delete(context.object(with: ids[0]))
      try context.save()
    }
    await main.perform { main in
      main.refreshAllObjects()
      do { _ = try main.existingObject(with: ids[0]) } catch { print("\(type(of: error)): \(error)") }
      print("its first name is \((main.object(with: ids[0]) as? Person)?.firstName ?? "gone")")
    }
    try coordinator.close()
  }
}
