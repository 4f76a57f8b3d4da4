import Foundation
import ObjectGraph
import ObjectGraphTesting
import TestSupport

/// A container on a fresh store of the kind that the test is for, whose default context has an executor of its own.
final class ContainerFixture: Sendable {
  let place: StorePlace
  let container: PersistentContainer
  let statements = StatementRecorder()
  let faults = StoreFaults()

  var root: ManagedObjectContext { container.rootContext }
  var main: ManagedObjectContext { container.defaultContext }

  init(executor: ContextExecutor = ContextExecutor(label: "default")) throws {
    place = try StorePlace()
    container = try PersistentContainer(
      model: People.model, store: place.description(statements: statements, faults: faults), executor: executor)
  }

  /// Saves a person of that age to the store, by a context that no other one knows.
  func insertPerson(_ age: Int64) async throws -> ManagedObjectID {
    try await container.save { context in
      let person = Person(context: context)
      person.age = age
      return person.objectID
    }
  }

  /// What another process reads.
  func shell(_ sql: String) throws -> String { try place.shell(sql) }
}
