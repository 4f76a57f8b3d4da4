import Foundation
import ObjectGraph
import StoreTesting
import Testing

@Suite("Merging what several contexts changed", .onEachStore)
struct MergingTests {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  @Test("Edits in a parent that are not published yet survive a child's save to other properties of the object")
  func threeWayMerge() throws {
    let id = try stack.savedPerson()
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    try stack.main.performAndWait { main in
      let person = try #require(main.object(with: id) as? Person)
      person.lastName = "Lovelace"
      try worker.performAndWait { worker in
        (worker.object(with: id) as? Person)?.age = 36
        try worker.save()
      }
      main.processPendingChanges()
      #expect(person.lastName == "Lovelace")
      #expect(person.age == 36)
    }
    try stack.flush()
    let stored = try stack.root().performAndWait { root in
      try root.fetch(FetchRequest<Person>()).map { "\($0.firstName ?? "") \($0.lastName ?? "") \($0.age)" }
    }
    #expect(stored == ["Ada Lovelace 36"])
  }

  @Test("Two workers that change different properties of one object both count, whoever saves first")
  func siblings() throws {
    let id = try stack.savedPerson()
    let workers = ["first", "second"].map { ManagedObjectContext(parent: stack.main, name: $0) }
    workers[0].performAndWait { ($0.object(with: id) as? Person)?.age = 2 }
    workers[1].performAndWait { ($0.object(with: id) as? Person)?.lastName = "Byron" }
    try workers[0].performAndWait { try $0.save() }
    try stack.flush()
    try workers[1].performAndWait { try $0.save() }
    try stack.flush()
    // The second worker's row never was the stored one; a further change of it is no conflict.
    try workers[1].performAndWait { worker in
      (worker.object(with: id) as? Person)?.firstName = "Augusta"
      try worker.save()
    }
    try stack.flush()
    let stored = try stack.root().performAndWait { root in
      try root.fetch(FetchRequest<Person>()).map { "\($0.firstName ?? "") \($0.lastName ?? "") \($0.age)" }
    }
    #expect(stored == ["Augusta Byron 2"])
  }

  @Test("A delete is final: an update by a worker that did not know of it is dropped")
  func deleteWins() throws {
    let id = try stack.savedPerson()
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    worker.performAndWait { ($0.object(with: id) as? Person)?.age = 2 }
    stack.main.performAndWait { main in main.delete(main.object(with: id)) }
    try worker.performAndWait { try $0.save() }
    try stack.flush()
    let count = try stack.root().performAndWait { try $0.count(for: FetchRequest<Person>()) }
    #expect(count == 0)
  }

  @Test("Two root contexts that change one object conflict: the second save lists it and writes nothing")
  func conflict() throws {
    let id = try stack.savedPerson()
    let other = stack.root()
    other.performAndWait { ($0.object(with: id) as? Person)?.age = 50 }
    stack.main.performAndWait { main in (main.object(with: id) as? Person)?.age = 60 }
    try stack.flush()
    other.performAndWait { other in
      Person(context: other).firstName = "Bea"
      let conflicts = #expect(throws: SaveConflicts.self) { try other.save() }
      #expect(conflicts?.conflicts.map(\.objectID) == [id])
      #expect(conflicts?.conflicts.first?.expectedVersion == 1)
      #expect(conflicts?.conflicts.first?.storedVersion == 2)
      #expect(other.hasChanges == true)
    }
    let rowCount = try stack.place.shell("SELECT count(*), max(age) FROM Person")
    #expect(rowCount == "1|60")
    // Put on top of the values of now, the same change is no conflict.
    try other.performAndWait { other in
      try other.refresh(other.object(with: id), mergeChanges: true)
      try other.save()
    }
    #expect(try stack.place.shell("SELECT count(*), max(age) FROM Person") == "2|50")
  }
}
