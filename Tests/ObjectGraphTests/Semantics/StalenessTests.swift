import Foundation
import ObjectGraph
import Synchronization
import Testing

/// A clock that stands still unless it is moved.
private final class StandingClock: Sendable {
  private let time = Mutex(Duration.zero)

  var uptime: Duration { time.withLock { $0 } }

  func move(by duration: Duration) { time.withLock { $0 += duration } }
}

@Suite("Faults and the row cache: the staleness interval")
struct StalenessTests {
  /// A stack, and another on the same file that writes to it without being noticed.
  private func stacks(_ clock: StandingClock = StandingClock()) throws -> (Stack, Stack) {
    let stack = try Stack(People.model, noticesOtherWriters: false) { clock.uptime }
    return (stack, try Stack(People.model, place: stack.place, noticesOtherWriters: false))
  }

  /// Changes a person by way of another coordinator.
  private func rename(_ id: ManagedObjectID, _ name: String, _ stack: Stack) throws {
    try stack.here.performAndWait { [uri = id.uriRepresentation] here in
      let id = try #require(uri.flatMap { stack.coordinator.objectID(for: $0) })
      let person = try #require(here.existingObject(with: id) as? Person)
      try here.refresh(person, mergeChanges: false)
      person.firstName = name
      try here.save()
    }
  }

  /// Makes a person a fault again and reads it.
  private func refreshedName(_ id: ManagedObjectID, _ context: ManagedObjectContext) throws -> String? {
    try context.performAndWait { context in
      let person = try #require(context.existingObject(with: id) as? Person)
      try context.refresh(person, mergeChanges: false)
      return person.firstName
    }
  }

  /// Whether a person, made a fault again, takes its values from the row cache; and whether they are the expected ones.
  private func isCached(_ id: ManagedObjectID, _ context: ManagedObjectContext, of stack: Stack, _ name: String) throws
    -> Bool
  {
    var found: String?
    let statements = try stack.statementCount { found = try refreshedName(id, context) }
    #expect(found == name)
    return statements == 0
  }

  @Test("A refreshed object is refilled from the row cache; with an interval of 0 from the store")
  func refreshing() throws {
    let (stack, other) = try stacks()
    let id = try stack.savedPerson("Ada")
    #expect(try refreshedName(id, stack.here) == "Ada")
    try rename(id, "Bob", other)
    #expect(stack.here.performAndWait { $0.stalenessInterval } < 0)
    #expect(try isCached(id, stack.here, of: stack, "Ada"))
    stack.here.performAndWait { $0.stalenessInterval = 0 }
    // What was read is kept for contexts that are content with it.
    #expect(try refreshedName(id, stack.here) == "Bob")
    #expect(try isCached(id, stack.there, of: stack, "Bob"))
    try rename(id, "Cy", other)
    #expect(try refreshedName(id, stack.here) == "Cy")
    try stack.checkInvariants()
  }

  @Test("A row is read again when it is older than the interval, and younger again after a read or a save")
  func age() throws {
    let clock = StandingClock()
    let (stack, other) = try stacks(clock)
    let id = try stack.savedPerson("Ada")
    stack.here.performAndWait { $0.stalenessInterval = 10 }
    #expect(try refreshedName(id, stack.here) == "Ada")
    try rename(id, "Bob", other)
    clock.move(by: .seconds(9))
    #expect(try refreshedName(id, stack.here) == "Ada")
    // Whether anybody has looked at the row meanwhile does not count.
    #expect(try refreshedName(id, stack.there) == "Ada")
    clock.move(by: .seconds(2))
    #expect(try refreshedName(id, stack.here) == "Bob")
    try rename(id, "Cy", other)
    clock.move(by: .seconds(9))
    #expect(try isCached(id, stack.here, of: stack, "Bob"))
    clock.move(by: .seconds(9))
    #expect(try refreshedName(id, stack.here) == "Cy")
    clock.move(by: .seconds(9))
    try stack.there.performAndWait { there in
      let person = try #require(there.existingObject(with: id) as? Person)
      try there.refresh(person, mergeChanges: false)
      person.age = 7
      try there.save()
    }
    clock.move(by: .seconds(9))
    #expect(try isCached(id, stack.here, of: stack, "Cy"))
  }

  @Test("Values that an object shows stay, and unsaved changes come on top of what is stored")
  func shown() throws {
    let (stack, other) = try stacks()
    let id = try stack.savedPerson("Ada")
    try stack.here.performAndWait { here in
      here.stalenessInterval = 0
      let person = try #require(here.existingObject(with: id) as? Person)
      person.age = 50
      try rename(id, "Bob", other)
      #expect(person.firstName == "Ada")
      try here.refresh(person, mergeChanges: true)
      #expect(person.firstName == "Bob" && person.age == 50)
      try here.save()
    }
    try stack.checkInvariants()
  }

  @Test("To-many relationships are read again too")
  func destinations() throws {
    let clock = StandingClock()
    let (stack, other) = try stacks(clock)
    let id = try stack.here.performAndWait { here in
      let department = Department(context: here)
      try here.save()
      return department.objectID
    }
    func count(_ interval: TimeInterval) throws -> Int {
      try stack.here.performAndWait { here in
        here.stalenessInterval = interval
        let department = try #require(here.existingObject(with: id) as? Department)
        try here.refresh(department, mergeChanges: false)
        return department.employees.count
      }
    }
    #expect(try count(-1) == 0)
    try other.here.performAndWait { [uri = id.uriRepresentation] here in
      let id = try #require(uri.flatMap { other.coordinator.objectID(for: $0) })
      Person(context: here).department = try here.existingObject(with: id) as? Department
      try here.save()
    }
    #expect(try count(-1) == 0)
    #expect(try count(5) == 0)
    clock.move(by: .seconds(6))
    #expect(try count(5) == 1)
    #expect(try count(0) == 1)
  }

  @Test(
    "With 0 each fault reads its row, unless the fetch brought the values; with more what was fetched is new enough",
    arguments: [(0, true, 21), (0, false, 1), (60, true, 1), (-1, true, 1)])
  func fetched(interval: TimeInterval, asFaults: Bool, expected: Int) throws {
    let stack = try Stack.people(20)
    let (sum, statements) = try stack.here.performAndWait { here in
      here.stalenessInterval = interval
      var request = FetchRequest<Person>()
      request.returnsObjectsAsFaults = asFaults
      var sum: Int64 = 0
      let statements = try stack.statementCount { sum = try here.fetch(request).reduce(0) { $0 + $1.age } }
      return (sum, statements)
    }
    #expect(sum == 190 && statements == expected)
  }

  @Test("What is pending in an ancestor is newer than any stored row", arguments: [true, false])
  func pending(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let id = try stack.savedPerson("Ada")
    try stack.writer.performAndWait { writer in
      (try writer.existingObject(with: id) as? Person)?.firstName = "Bob"
    }
    stack.main.performAndWait { $0.stalenessInterval = 0 }
    #expect(try refreshedName(id, stack.main) == "Bob")
    stack.here.performAndWait { $0.stalenessInterval = 0 }
    #expect(try refreshedName(id, stack.here) == "Ada")
  }
}
