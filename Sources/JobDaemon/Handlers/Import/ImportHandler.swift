import Configuration
import JSONText
import Jobs
import ObjectGraph
import ObjectModel
import Synchronization

/// The type `import`: the records of a CSV file become objects of an entity.
///
/// The file is read twice: once to check every record, so that a bad one is found before anything is written, and once
/// to import, chunk by chunk. A chunk's rows and the place to go on from are in one transaction, so that an import that
/// was interrupted goes on where its last flush ended, and no row is imported twice.
struct ImportHandler: OwnHandler {
  let type = "import"
  let hasOutsideEffects = false
  private let coordinator: PersistentStoreCoordinator
  private let configuration: ConfigurationBox

  init(coordinator: PersistentStoreCoordinator, configuration: ConfigurationBox) {
    self.coordinator = coordinator
    self.configuration = configuration
  }

  func validate(_ arguments: JSONValue) throws(JobFileError) {
    _ = try ImportArguments(arguments, model: coordinator.model)
  }

  func run(_ execution: JobExecution) async throws -> JSONValue { try await makeRun(execution).run() }

  func revert(_ execution: JobExecution) async throws { try await makeRun(execution).revert() }

  private func makeRun(_ execution: JobExecution) throws(JobFailure) -> ImportRun {
    let arguments: ImportArguments
    do throws(JobFileError) {
      arguments = try ImportArguments(execution.arguments, model: coordinator.model)
    } catch {
      throw JobFailure(error.description)
    }
    return ImportRun(execution, arguments, coordinator, configuration.value.importing)
  }
}
