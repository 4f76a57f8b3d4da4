import Foundation
import TestSupport
import Testing

@Suite("Threading mistakes do not compile, and their cures do")
struct IsolationTests {
  private static let mistakes = Task {
    try await Compiler.errors(in: Dictionary(uniqueKeysWithValues: cases.map { ($0.name, $0.mistake) }))
  }

  @Test("Each mistake is an error that says what is wrong", arguments: cases)
  func mistake(_ mistake: IsolationCase) async throws {
    let errors = try await Self.mistakes.value[mistake.name] ?? []
    #expect(
      errors.contains { error in mistake.diagnostic.allSatisfy { error.localizedCaseInsensitiveContains($0) } },
      "\(errors)")
  }

  @Test("The same sources without the mistakes compile, so nothing else in them was wrong")
  func cures() async throws {
    let errors = try await Compiler.errors(in: Dictionary(uniqueKeysWithValues: Self.cases.map { ($0.name, $0.cure) }))
    #expect(errors == [:])
  }

  @Test("IDs, counts, dictionary results and snapshots of rows leave their context, with and without await")
  func whatLeaves() async throws {
    let errors = try await Compiler.errors(
      in: """
        struct Card: Sendable { let id: ManagedObjectID; let committed: [String: Value] }
        func cards(_ context: ManagedObjectContext) async throws -> [Card] {
          try await context.perform { context in
            try context.fetch(FetchRequest<Person>()).map {
              Card(id: $0.objectID, committed: $0.committedValues(forKeys: ["age"]))
            }
          }
        }
        func rows(_ context: ManagedObjectContext) async throws -> [[String: Value]] {
          try await context.fetchDictionaries(FetchRequest<Person>())
        }
        func count(_ context: ManagedObjectContext) async throws -> Int {
          let ids = try await context.fetchIDs(FetchRequest<Person>())
          return try await context.count(for: FetchRequest<Person>()) + ids.count
        }
        func saves(_ context: ManagedObjectContext, into other: ManagedObjectContext) async {
          for await case .didSave(let save) in context.events() {
            await other.mergeChanges(fromContextDidSave: save)
          }
        }
        func run(_ context: ManagedObjectContext) throws {
          context.perform { context in context.rollback() }
          try context.performAndWait { try $0.save() }
        }
        """)
    #expect(errors == [])
  }
}
