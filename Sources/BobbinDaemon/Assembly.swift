import Configuration
import JobDaemon
import Jobs
import ObjectGraph
import ObjectModel
import ProgramHandler
import SystemSupport

/// Everything that the folder of the configuration says.
struct Settings: Sendable {
  var configuration = Configuration()
  var types: [DeclaredType] = []
  var hotFolders: [HotFolder] = []
  var tokens: [TokenGrant] = []
  /// The daemon's own entities, the program's, and those of the operator's models.
  var model = BuiltInModel.own

  /// Settings that have no effect as things are, each in words.
  var warnings: [String] {
    let group = configuration.status.controlGroup
    // A directory service that does not answer now may do so later.
    let isUnknown = !group.isEmpty && ((try? UserDatabase.group(named: group) == nil) ?? false)
    return configuration.idleSettings
      + (isUnknown
        ? [
          "[Status] ControlGroup names the group \"\(displayName(group))\", which this host does not have: nobody is in it"
        ]
        : [])
  }
}

/// Puts a daemon together: of its settings, the program's own handlers, and an open store.
struct Assembly: Sendable {
  let paths: Paths
  /// The configuration in force.
  let configuration: ConfigurationBox
  /// The handlers that the program adds to the built-in ones.
  let handlers: [any JobHandler]
  let log: DaemonLog

  /// Returns the parts of a daemon.
  ///
  /// - Throws: ``ConfigurationError`` with the mistakes in schedules.
  func parts(_ settings: Settings, on opened: StoreOpening.Opened) throws -> Daemon.Parts {
    let builtIn = try builtInHandlers(on: opened.coordinator)
    return Daemon.Parts(
      paths: paths, configuration: configuration, coordinator: opened.coordinator,
      handlers: builtIn.all + handlers, declaredHandlers: builtIn.handlers(of: settings.types),
      hotFolders: settings.hotFolders, killLeftovers: builtIn.killLeftovers, fleet: opened.fleet,
      schedules: try schedules(settings, builtIn), log: log)
  }

  /// Returns the handlers that every daemon has, and that make those of declared types.
  ///
  /// - Parameter coordinator: has the model that arguments are checked by; its store need not be open for that.
  func builtInHandlers(on coordinator: PersistentStoreCoordinator) throws -> BuiltInHandlers {
    BuiltInHandlers(
      paths, configuration, coordinator: coordinator, imageHelperPath: try Executable.ownDirectory() + "/bobbin-image")
  }

  /// Reads the schedules, and checks the jobs that they submit.
  func schedules(_ settings: Settings, _ builtIn: BuiltInHandlers) throws(ConfigurationError) -> [ScheduledFile] {
    try ScheduledFile.load(
      paths, settings.configuration, handlers: builtIn.all + handlers + builtIn.handlers(of: settings.types))
  }
}
