import Testing

@Suite("Threading mistakes do not compile")
struct IsolationTests {
  @Test("Returning an object from perform is an error, returning its ID is none")
  func returningObjects() throws {
    let errors = try Compiler.errors(
      in: """
        func leak(_ context: ManagedObjectContext, _ id: ManagedObjectID) async -> Person? {
          await context.perform { $0.object(with: id) as? Person }
        }
        """)
    #expect(errors.contains { $0.contains("'Person'") && $0.contains("'Sendable'") })
    let none = try Compiler.errors(
      in: """
        func insert(_ context: ManagedObjectContext) async -> ManagedObjectID {
          await context.perform { Person(context: $0).objectID }
        }
        func age(_ context: ManagedObjectContext, _ id: ManagedObjectID) throws -> Bool {
          try context.performAndWait { try $0.existingObject(with: id).isFault }
        }
        """)
    #expect(none == [])
  }

  @Test("Using an object in the block of another context is an error")
  func capturingObjects() throws {
    let errors = try Compiler.errors(
      in: """
        func smuggle(_ first: ManagedObjectContext, _ second: ManagedObjectContext) async {
          await first.perform { context in
            let person = Person(context: context)
            second.perform { _ in print(person.objectID) }
          }
        }
        """)
    #expect(errors.contains { $0.contains("'person'") && $0.contains("Sendable") })
  }

  @Test("Calling a context from outside without await is an error")
  func callingFromOutside() throws {
    let errors = try Compiler.errors(
      in: """
        func look(_ context: ManagedObjectContext) throws -> Int {
          try context.count(for: FetchRequest<Person>())
        }
        """)
    #expect(errors.contains { $0.contains("actor-isolated instance method 'count(for:)'") })
  }

  @Test("Fetching objects from outside is an error, with await too")
  func fetchingFromOutside() throws {
    let errors = try Compiler.errors(
      in: """
        func take(_ context: ManagedObjectContext) async throws -> [Person] {
          try await context.fetch(FetchRequest<Person>())
        }
        """)
    #expect(errors.contains { $0.contains("Person") && $0.localizedCaseInsensitiveContains("sendable") })
  }

  @Test("Asking a context from outside with await for what is Sendable is none")
  func awaiting() throws {
    let none = try Compiler.errors(
      in: """
        func count(_ context: ManagedObjectContext) async throws -> Int {
          try await context.count(for: FetchRequest<Person>())
        }
        func run(_ context: ManagedObjectContext) {
          context.perform { context in context.rollback() }
        }
        func runAsync(_ context: ManagedObjectContext) async throws {
          try await context.perform { context in try context.save() }
          await context.perform { context in context.rollback() }
        }
        """)
    #expect(none == [])
  }
}
