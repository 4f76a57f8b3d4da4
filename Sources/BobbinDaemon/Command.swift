import Configuration
import Dispatch
import Foundation
import JobDaemon
import ObjectGraph
import ObjectModel
import SQLiteStore
import SystemSupport

/// What a daemon does from its arguments to its exit code.
struct Command {
  private let program: DaemonProgram
  private let arguments: [String]
  private let journal: Journal

  init(_ program: DaemonProgram, _ arguments: [String]) {
    self.program = program
    self.arguments = arguments
    journal = Journal(identifier: program.name)
  }

  func run() -> Never {
    // Before there is another thread: the service manager lets the daemon see who is writing to a job file (CAP_LEASE),
    // and programs that it starts need not.
    do { try Capabilities.keepFromChildren() } catch {
      journal.log(.warning, "programs that are started inherit capabilities: \(error)")
    }
    do {
      let options = try Options(arguments, program: program.name)
      if options.showsHelp { finish(printing: Options.help(of: program.name)) }
      if options.showsVersion { finish(printing: "\(program.name) \(Release.version)") }
      try HandlerTypes.check(program.handlers)
      let paths = options.root.map { Paths(root: absolute($0)) } ?? .system
      if options.checksConfiguration { try check(paths, options) }
      try serve(paths, options)
    } catch let error as UsageError {
      fail(error, .usage)
    } catch let error as ConfigurationError {
      fail(error, .configuration)
    } catch let error as ModelError {
      fail(error, .configuration)
    } catch let error as HandlerTypeError {
      fail(error, .configuration)
    } catch let error as StoreError {
      fail(error, error.code == .inputOutput || error.code == .full ? .storeFailure : .configuration)
    } catch let error as SystemError {
      fail(error, error.code == .wouldBlock || error.code == .addressInUse ? .unavailable : .storeFailure)
    } catch {
      fail(error, .internalFailure)
    }
  }

  private func finish(printing text: String) -> Never {
    print(text)
    exit(ExitCode.success.rawValue)
  }

  private func fail(_ error: any Error, _ code: ExitCode) -> Never {
    // Several problems are told line by line.
    for line in "\(error)".split(separator: "\n") { journal.log(.error, String(line)) }
    exit(code.rawValue)
  }

  private func absolute(_ path: String) -> String {
    path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
  }

  /// The configuration and the declared job types, or everything that is wrong in any of their files.
  private func load(
    _ paths: Paths, _ options: Options
  ) throws(ConfigurationError) -> (Configuration, [DeclaredType]) {
    var problems: [ConfigurationProblem] = []
    var configuration = Configuration()
    var types: [DeclaredType] = []
    do throws(ConfigurationError) {
      let mainFile = options.configurationFile ?? paths.configurationFile
      configuration = try Configuration.load(mainFile: mainFile, dropIns: paths.configurationDropIns)
      problems += configuration.presetProblems(in: mainFile)
    } catch {
      problems += error.problems
    }
    do throws(ConfigurationError) { types = try DeclaredType.load(paths, besides: program.handlers) } catch {
      problems += error.problems
    }
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return (configuration, types)
  }

  private func check(_ paths: Paths, _ options: Options) throws -> Never {
    let (_, types) = try load(paths, options)
    let model = try BuiltInModel.merged(withModelsIn: paths.models, and: program.models)
    let declared = types.count == 1 ? "1 declared job type" : "\(types.count) declared job types"
    finish(printing: "the configuration is in order; \(model.entities.count) entities, \(declared)")
  }

  private func serve(_ paths: Paths, _ options: Options) throws -> Never {
    let (configuration, types) = try load(paths, options)
    let model = try BuiltInModel.merged(withModelsIn: paths.models, and: program.models)
    if let root = options.root { try makeFolders(of: paths, root: root) }
    let lock = try FileLock(path: paths.state + "/lock")
    let log = DaemonLog(journal: journal, level: configuration.log.level)
    let coordinator = try openStore(paths, configuration, model, log)
    let listener = try listen(paths)
    let parts = Daemon.Parts(
      paths: paths, configuration: configuration, coordinator: coordinator,
      imageHelperPath: try Executable.ownDirectory() + "/bobbin-image", handlers: program.handlers,
      declaredTypes: types, log: log)
    let service = try Service(parts, listener: listener, lock: lock) { () throws in try load(paths, options) }
    try service.start()
    dispatchMain()
  }

  /// Opens the store; while its disk is full, waits for room, as a running daemon does.
  private func openStore(
    _ paths: Paths, _ configuration: Configuration, _ model: ManagedObjectModel, _ log: DaemonLog
  ) throws -> PersistentStoreCoordinator {
    var isTold = false
    while true {
      do { return try openOnce(paths, configuration, model) } catch let error as StoreError where error.code == .full {
        if !isTold { log.error("the store can't be opened; it is tried again every few seconds: \(error)") }
        isTold = true
        try ServiceManager.notify([
          .status("waiting for room on the disk of the store"), .extendTimeout(Self.openingInterval * 10),
        ])
        // Nobody tells of free space; signals still end the process as they do before it has begun.
        Thread.sleep(forTimeInterval: Self.openingInterval / .seconds(1))
      }
    }
  }

  private static let openingInterval = Duration.seconds(3)

  private func openOnce(
    _ paths: Paths, _ configuration: Configuration, _ model: ManagedObjectModel
  ) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(model: model)
    var storeOptions = SQLiteStoreOptions()
    storeOptions.reclaimsSpace = true
    storeOptions.externalDataThreshold = configuration.store.externalDataThreshold
    // An operator's model file may be missing for a while.
    storeOptions.keepsRemovedEntities = true
    // The daemon is the only one to write.
    storeOptions.noticesOtherWriters = false
    try coordinator.open(.sqlite(at: URL(fileURLWithPath: paths.store), options: storeOptions))
    return coordinator
  }

  private func makeFolders(of paths: Paths, root: String) throws {
    let run = URL(fileURLWithPath: paths.socket).deletingLastPathComponent().path
    for path in [paths.state, run, paths.configuration, paths.configurationDropIns, paths.handlers, paths.models] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
  }

  /// The socket that systemd passed, or one of our own.
  private func listen(_ paths: Paths) throws -> UnixListener {
    var passed = try ServiceManager.takeListenDescriptors()
    if let descriptor = passed.take(named: "bobbin-http") { return try UnixListener(adopting: descriptor) }
    return try UnixListener(path: paths.socket, mode: 0o666)
  }
}
