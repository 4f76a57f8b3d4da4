package import Configuration
import ImageHandler
import ImportHandler
import JobDaemon
package import Jobs
package import ObjectGraph
import ProgramHandler
import SystemSupport

/// The handlers that every daemon has; a new one is added here, and the daemon's core knows none by name.
package struct BuiltInHandlers {
  /// The types that no other handler may have.
  static let types: Set<String> = [NoopHandler.type, ImportHandler.type, ImageEncodeHandler.type]

  private let coordinator: PersistentStoreCoordinator
  private let mark: ProcessMark
  /// A handler for each of ``types``.
  package let all: [any JobHandler]

  /// Makes the handlers; no process is started yet.
  ///
  /// - Parameters:
  ///   - paths: the folders of the daemon, which no job may write to.
  ///   - configuration: read at each attempt.
  ///   - coordinator: has the store open.
  ///   - imageHelperPath: the path of `bobbin-image`.
  package init(
    _ paths: Paths, _ configuration: ConfigurationBox, coordinator: PersistentStoreCoordinator, imageHelperPath: String
  ) {
    self.coordinator = coordinator
    mark = ProcessMark(stateFolder: paths.state)
    all = [
      NoopHandler(), ImportHandler(coordinator: coordinator, configuration: configuration),
      ImageEncodeHandler(
        helperPath: imageHelperPath, coordinator: coordinator, configuration: configuration, paths: paths),
    ]
  }

  /// Returns a handler for each type that a file declares.
  func handlers(of types: [DeclaredType]) -> [any JobHandler] {
    types.map { ProcessHandler($0, coordinator: coordinator, mark: mark) }
  }

  /// Kills the processes that programs of an earlier run had started, and returns how many there were.
  func killLeftovers() throws -> Int { try mark.killLeftovers() }
}
