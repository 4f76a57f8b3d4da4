import Foundation
import TestSupport
import Testing

@testable import ObjectGraph

@Suite("Checking invariants finds what is wrong")
struct InvariantTests {
  let stack: Stack

  // What is tampered with is to stay unnoticed.
  init() throws { stack = try Stack(People.model, noticesOtherWriters: false) }

  private func findings(_ context: ManagedObjectContext) -> [String] {
    context.performAndWait { context in
      do throws(InvariantViolation) { try context.checkInvariants() } catch { return error.findings }
      return []
    }
  }

  private func findings(_ stack: Stack) throws -> [String] {
    do { try stack.coordinator.checkInvariants() } catch let error as InvariantViolation { return error.findings }
    return []
  }

  /// Changes the store behind everybody's back.
  private func tamper(_ stack: Stack, _ sql: String) throws { _ = try SQLiteShell(path: stack.storePath).run(sql) }

  @Test("in a stack at work: nothing")
  func healthy() throws {
    let id = try stack.savedPerson()
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    try stack.main.performAndWait { main in
      let person = try #require(main.object(with: id) as? Person)
      person.department = Department(context: main)
      Person(context: main).department = person.department
      try main.checkInvariants()
      try child.performAndWait { child in
        child.delete(child.object(with: id))
        try child.checkInvariants()
        try child.save()
        try child.checkInvariants()
      }
      try main.checkInvariants()
    }
    try stack.flush()
    try stack.checkInvariants(child)
  }

  @Test("in a context: values that were changed without being pending")
  func untrackedChange() throws {
    try stack.main.performAndWait { main in
      let person = Person(context: main)
      main.processPendingChanges()
      try main.checkInvariants()
      person.row.setInteger(99, 2)
      do throws(InvariantViolation) {
        try main.checkInvariants()
        Issue.record("nothing was found")
      } catch {
        #expect(error.findings == ["\(person) shows other values than are pending"])
      }
      // At the end of the event a debug build would trap.
      main.reset()
    }
  }

  @Test("in a context: a relationship that leads one way only")
  func brokenInverse() throws {
    stack.main.performAndWait { main in
      let (person, department) = (Person(context: main), Department(context: main))
      #expect(department.employees.isEmpty)
      person.department = department
      department.toMany?[1]?.remove(person.objectID)
    }
    #expect(findings(stack.main).contains { $0.contains("department, which does not lead back by employees") })
    stack.main.performAndWait { $0.reset() }
  }

  @Test("in a context: changes that nobody would save")
  func unheldChange() throws {
    let id = try stack.savedPerson()
    stack.main.performAndWait { main in
      let person = main.object(with: id)
      _ = (person as? Person)?.age
      person.state.insert(.updated)
      do throws(InvariantViolation) {
        try main.checkInvariants()
        Issue.record("nothing was found")
      } catch {
        #expect(error.description.contains("the context \"main\"") && error.description.contains("is not held"))
      }
      person.state.remove(.updated)
    }
  }

  @Test("in a coordinator: a row that the store has otherwise than the row cache, or not at all")
  func staleRows() throws {
    let ids = try (1...3).map { try stack.savedPerson(age: $0) }
    _ = try stack.root().performAndWait { try $0.fetch(FetchRequest<Person>()).map(\.age) }
    #expect(try findings(stack) == [])
    try tamper(
      stack,
      "DROP TRIGGER _version_Person; UPDATE Person SET age = 50 WHERE _key = \(ids[0].key); UPDATE Person SET _version = 9 WHERE _key = \(ids[1].key);"
        + " DELETE FROM Person WHERE _key = \(ids[2].key)")
    let found = try findings(stack).sorted()
    #expect(found.count == 3)
    #expect(found.contains { $0.contains("another age in the row cache") })
    #expect(found.contains { $0.contains("version 1, in the store in 9") })
    #expect(found.contains { $0.contains("in the row cache and not in the store") })
  }

  @Test("in a store: references and links that lead nowhere, or one way only")
  func danglingRows() throws {
    let zoo = try Stack(Zoo.model)
    let (ada, bob) = try zoo.writer.performAndWait { writer in
      let (ada, bob, shift) = (Keeper(context: writer), Keeper(context: writer), Shift(context: writer))
      ada.friends = [bob]
      shift.keeper = ada
      try writer.save()
      return (ada.objectID, bob.objectID)
    }
    #expect(try findings(zoo) == [])
    try tamper(zoo, "DELETE FROM Keeper_friends WHERE friends = \(ada.key)")
    #expect(try findings(zoo) == ["1 links of Keeper_friends lead one way only"])
    try tamper(zoo, "UPDATE Shift SET keeper = 12345; DELETE FROM Keeper WHERE _key = \(bob.key)")
    let found = try findings(zoo)
    #expect(found.contains("1 of Shift.keeper lead nowhere"))
    #expect(found.contains { $0.hasPrefix("1 links of Keeper_friends lead nowhere") })
  }

  @Test("in a store: files of large values that are missing, cut off, or nobody's")
  func largeValues() throws {
    let gallery = try GalleryStack()
    try gallery.writer.performAndWait { writer in
      for size in [100_000, 200_000] { ImageBlob(context: writer).data = Data(repeating: 1, count: size) }
      try writer.save()
    }
    func found() throws -> [String] {
      do { try gallery.coordinator.checkInvariants() } catch let error as InvariantViolation { return error.findings }
      return []
    }
    #expect(try found() == [])
    let files = gallery.externalFiles().sorted { $0.pathExtension < $1.pathExtension }
    try Data(count: 5).write(to: files[0])
    try FileManager.default.moveItem(at: files[1], to: files[1].appendingPathExtension("lost"))
    let findings = try found()
    #expect(findings.contains("the file \(files[0].lastPathComponent) has 5 bytes"))
    #expect(findings.contains("the file \(files[1].lastPathComponent) of a large value is missing"))
    #expect(findings.contains("no row refers to the file \(files[1].lastPathComponent).lost"))
  }
}
