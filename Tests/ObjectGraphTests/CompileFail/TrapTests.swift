import Foundation
import ObjectGraph
import TestSupport
import Testing

@Suite("Threading mistakes that the compiler can't see trap with a message that names the context")
struct TrapTests {
  /// Carries an object where the compiler would not let it go.
  private struct Smuggled: @unchecked Sendable {
    // @unchecked: this is the mistake under test.
    let person: Person

    init(_ context: ManagedObjectContext) {
      self = context.performAndWait { Smuggled(Person(context: $0)) }
    }

    private init(_ person: Person) { self.person = person }
  }

  private func expectMessage(_ result: ExitTest.Result?, _ parts: String...) {
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    for part in parts { #expect(text.contains(part), "\(text.suffix(600))") }
  }

  @Test("Reading a property")
  func reading() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stack = try Stack(People.model, inMemory: true)
      print(Smuggled(stack.main).person.age)
      exit(0)
    }
    expectMessage(result, "the context \"main\"", "use perform or performAndWait")
  }

  @Test("Writing a property")
  func writing() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stack = try Stack(People.model, inMemory: true)
      Smuggled(stack.main).person.age = 1
      exit(0)
    }
    expectMessage(result, "the context \"main\"")
  }

  @Test("Traversing a relationship")
  func traversing() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stack = try Stack(People.model, inMemory: true)
      print(Smuggled(stack.main).person.department as Any)
      exit(0)
    }
    expectMessage(result, "the context \"main\"")
  }

  @Test("Using an object in another context's block, also while its own waits for that")
  func anotherBlock() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stack = try Stack(People.model, inMemory: true)
      stack.main.performAndWait { _ in
        let smuggled = Smuggled(stack.main)
        stack.writer.performAndWait { _ in print(smuggled.person.age) }
      }
      exit(0)
    }
    expectMessage(result, "the context \"main\"")
  }

  @Test("Entering a context's isolation on a wrong executor")
  func assuming() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stack = try Stack(People.model, inMemory: true)
      stack.main.performAndWait { _ in stack.writer.assumeIsolated { print($0.hasChanges) } }
      exit(0)
    }
    expectMessage(result, "\"writer\"", "use perform or performAndWait")
  }

  @Test("Relating objects of two contexts")
  func relating() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stack = try Stack(People.model, inMemory: true)
      let editor = ManagedObjectContext(parent: stack.main, name: "editor", executor: stack.main.executor)
      let smuggled = Smuggled(stack.main)
      stack.main.performAndWait { _ in
        editor.assumeIsolated { smuggled.person.department = Department(context: $0) }
      }
      exit(0)
    }
    expectMessage(result, "\"main\"", "another context")
  }

  @Test("Setting a relationship by name to something else than objects")
  func notAnObject() async {
    let single = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stack = try Stack(People.model, inMemory: true)
      stack.main.performAndWait { main in
        Person(context: main).setValue(Department(context: main).objectID, forKey: "department")
      }
      exit(0)
    }
    expectMessage(single, "Person.department leads to an object, and can't hold a ManagedObjectID")
    let several = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stack = try Stack(People.model, inMemory: true)
      stack.main.performAndWait { Department(context: $0).setValue(Person(context: $0), forKey: "employees") }
      exit(0)
    }
    expectMessage(several, "Department.employees leads to objects and takes an array or a set of them")
  }

  @Test("Setting a number by name that is out of the property's range")
  func outOfRange() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stack = try Stack(Zoo.model, inMemory: true)
      stack.main.performAndWait { Everything(context: $0).setValue(70_000, forKey: "small") }
      exit(0)
    }
    expectMessage(result, "Everything.small is Integer 16, and can't hold this Int: it is out of range")
  }

  @Test("Deleting an object again whose delete was saved")
  func deletedObject() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stack = try Stack(People.model, inMemory: true)
      try stack.writer.performAndWait { writer in
        let person = Person(context: writer)
        try writer.save()
        writer.delete(person)
        try writer.save()
        writer.delete(person)
      }
      exit(0)
    }
    expectMessage(result, "no longer belongs to a context and can't be deleted")
  }

  @Test("Using an ID of another coordinator")
  func foreignID() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (stack, foreign) = (try Stack(People.model, inMemory: true), try Stack(People.model, inMemory: true))
      let id = foreign.main.performAndWait { Person(context: $0).objectID }
      stack.main.performAndWait { print($0.object(with: id)) }
      exit(0)
    }
    expectMessage(result, "another coordinator")
  }
}
