// The three levels of contexts: a worker fills a private child of main, main merges, the writer saves to SQLite.
// Run it with "swift run contexts-example". Its model is People.xcdatamodeld beside this file; the build plugin makes
// the classes Person and Department and the constant People.model of it.
import Foundation
import ObjectGraph
import SQLiteStore

let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }

let coordinator = PersistentStoreCoordinator(model: People.model)
try coordinator.open(.sqlite(at: folder.appendingPathComponent("people.sqlite")))
let writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
let main = ManagedObjectContext(parent: writer, name: "main")

// Objects belong to their context and can't leave its block; their IDs can.
let worker = ManagedObjectContext(parent: main, name: "worker")
let ids = try await worker.perform { context in
  let department = Department(context: context)
  department.name = "Looms"
  let people = [("Ada", "Lovelace", 36), ("Grace", "Hopper", 85), ("Joseph", "Jacquard", 82)]
  let inserted = people.map { first, last, age in
    let person = Person(context: context)
    person.firstName = first
    person.lastName = last
    person.age = Int64(age)
    person.department = department
    return person
  }
  // One level up, into main; nothing is on disk yet.
  try context.save()
  return inserted.map(\.objectID)
}

try await main.perform { context in
  for id in ids {
    guard let person = context.object(with: id) as? Person else { continue }
    print(person.firstName ?? "", person.lastName ?? "", "of", person.department?.name ?? "nowhere")
  }
  try context.save()
}
try await writer.perform { try $0.save() }

let names = try await main.perform { context in
  let request = try FetchRequest<Person>(#Predicate { $0.age >= 80 && $0.age <= 90 }, sortBy: [.ascending(\.age)])
  return try context.fetch(request).compactMap(\.lastName)
}
print("Between 80 and 90:", names.joined(separator: ", "))
try coordinator.close()
