package import Configuration
package import JSONText
package import Jobs
package import ObjectGraph
import ObjectModel
import Synchronization

/// The type `import`: the records of a CSV file become objects of an entity.
///
/// The file is read twice: once to check every record, so that a bad one is found before anything is written, and once
/// to import, chunk by chunk. A chunk's rows and the cursor after it are in one transaction, so that an import that
/// was interrupted continues where its last flush ended, and no row is imported twice.
package struct ImportHandler: OwnHandler {
  package static let type = "import"
  package var type: String { Self.type }
  package var hasOutsideEffects: Bool { false }
  private let coordinator: PersistentStoreCoordinator
  private let configuration: ConfigurationBox

  package init(coordinator: PersistentStoreCoordinator, configuration: ConfigurationBox) {
    self.coordinator = coordinator
    self.configuration = configuration
  }

  package func validate(_ arguments: JSONValue) throws(JobFileError) {
    _ = try ImportArguments(arguments, model: coordinator.model)
  }

  package var argumentSchema: JSONValue? { ImportArguments.schema(coordinator.model) }

  package func paths(in arguments: JSONValue) -> [String] { arguments.object?["input"]?.texts ?? [] }

  package func inputs(in arguments: JSONValue) -> [String] { paths(in: arguments) }

  package func replacingPaths(in arguments: JSONValue, with change: (String) -> String) -> JSONValue {
    arguments.replacingText("input", with: change)
  }

  package func run(_ execution: JobExecution) async throws -> JSONValue { try await makeRun(execution).run() }

  package func revert(_ execution: JobExecution) async throws { try await makeRun(execution).revert() }

  package func rejectCount(of job: Job, in context: isolated ManagedObjectContext) throws -> Int64? {
    let condition = try Condition(\ImportState.job, leadsTo: job.objectID)
    return try context.fetch(FetchRequest<ImportState>(condition, limit: 1)).first?.rejects ?? 0
  }

  /// One in a single transaction is undone by its end.
  package func goesOn(_ arguments: JSONValue) -> Bool {
    (try? ImportArguments(arguments, model: coordinator.model).isAtomic) == false
  }

  private func makeRun(_ execution: JobExecution) throws -> ImportRun {
    let arguments: ImportArguments
    do throws(JobFileError) {
      arguments = try ImportArguments(execution.arguments, model: coordinator.model)
    } catch {
      throw JobFailure(error.description)
    }
    return ImportRun(
      execution, arguments, coordinator: coordinator, settings: configuration.value.importing)
  }
}
