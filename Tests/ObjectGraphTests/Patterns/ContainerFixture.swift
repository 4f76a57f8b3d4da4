import Foundation
import ObjectGraph
import ObjectGraphTesting
import TestSupport

/// A container on a fresh SQLite store, whose default context has an executor of its own.
final class ContainerFixture: Sendable {
  let directory: TemporaryDirectory
  let container: PersistentContainer
  let statements = StatementRecorder()
  let faults = StoreFaults()

  var root: ManagedObjectContext { container.rootContext }
  var main: ManagedObjectContext { container.defaultContext }

  init(executor: ContextExecutor = ContextExecutor(label: "default")) throws {
    directory = try TemporaryDirectory()
    var options = SQLiteStoreOptions()
    options.statementLog = statements.record
    options.failure = faults.strike
    let url = URL(fileURLWithPath: directory.path("people.sqlite"))
    container = try PersistentContainer(
      model: People.model, store: .sqlite(at: url, options: options), executor: executor)
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
  func sqlite(_ sql: String) throws -> String { try SQLiteShell(path: directory.path("people.sqlite")).run(sql) }
}
