import Configuration
import Dispatch
import Foundation
import ImageHandler
import JobDaemon
import ObjectGraph
import ObjectModel
import ProgramHandler
import SystemSupport

/// A daemon program: `bobbind` with job handlers of your own.
///
/// It takes the arguments, the configuration, the spool, the store and the socket of `bobbind`, and has its built-in job
/// types; `bobbinctl` speaks to it. The `main.swift` of a program is
/// ```swift
/// import BobbinDaemon
///
/// DaemonProgram(handlers: [CatalogueHandler()], models: [Catalogue.model]).run()
/// ```
/// Documentation/SwiftHandlers.md explains how to write a handler.
public struct DaemonProgram: Sendable {
  private let name: String
  private let handlers: [any JobHandler]
  private let models: [ManagedObjectModel]
  private let journal: Journal

  /// Describes a daemon; nothing is read or opened yet.
  ///
  /// - Parameters:
  ///   - name: the program's name in messages; the name of its file, if nil.
  ///   - handlers: one for each type of job that the daemon knows beside the built-in ones.
  ///   - models: the entities of the handlers, as the plugin CompileModel makes them of `.xcdatamodeld` files. They lie in
  ///     the daemon's store, beside its own entities and those of the operator's models, so each name is to be used once.
  public init(name: String? = nil, handlers: [any JobHandler] = [], models: [ManagedObjectModel] = []) {
    self.name = name ?? URL(fileURLWithPath: CommandLine.arguments.first ?? "daemon").lastPathComponent
    self.handlers = handlers
    self.models = models
    journal = Journal(identifier: self.name)
  }

  /// Carries out the arguments, usually by running jobs until SIGTERM, and ends the process.
  ///
  /// To be called on the main thread before anything else is started. A mistake in arguments, configuration, handlers
  /// or models is reported on standard error and ends the process with a status of sysexits.h; `--help` lists them.
  /// - Parameter arguments: those of the command line, without the program's name.
  public func run(_ arguments: [String] = Array(CommandLine.arguments.dropFirst())) -> Never {
    // The main queue serves signals and the watchdog; the daemon's work runs on its own executors.
    ProcessMemory.limitArenas(to: 2)
    // Before there is another thread: the service manager lets the daemon see who is writing to a job file (CAP_LEASE),
    // which the programs that it starts do not need.
    do { try Capabilities.keepFromChildren() } catch {
      journal.log(.warning, "programs that are started inherit capabilities: \(error)")
    }
    orFail {
      let options = try Options(arguments, program: name)
      if options.showsHelp { finish(printing: Options.help(of: name)) }
      if options.showsVersion { finish(printing: "\(name) \(Release.version)") }
      try HandlerTypes.check(handlers, besides: BuiltInHandlers.types)
      let paths = options.root.map { Paths(root: absolute($0)) } ?? .system
      if options.checksConfiguration { try check(paths, options) }
      if options.buries {
        Burial(paths, configurationFile: options.configurationFile, journal: journal).run()
        ExitCode.success.exitNow()
      }
      try serve(paths, options)
    }
    dispatchMain()
  }

  /// Runs a step of the start; an error ends the process with its exit code.
  private func orFail(_ step: () throws -> Void) {
    do { try step() } catch { fail(error, ExitCode(failedStart: error)) }
  }

  private func finish(printing text: String) -> Never {
    print(text)
    exit(ExitCode.success.rawValue)
  }

  private func fail(_ error: any Error, _ code: ExitCode) -> Never {
    // Several problems are logged line by line.
    for line in "\(error)".split(separator: "\n") { journal.log(.error, String(line)) }
    exit(code.rawValue)
  }

  private func absolute(_ path: String) -> String {
    path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
  }

  /// Everything that the folder of the configuration says.
  private struct Loaded {
    var configuration = Configuration()
    var types: [DeclaredType] = []
    var hotFolders: [HotFolder] = []
  }

  /// Loads the configuration, the declared job types and the hot folders, or throws every mistake in their files.
  private func load(_ paths: Paths, _ options: Options) throws(ConfigurationError) -> Loaded {
    var problems: [ConfigurationProblem] = []
    var loaded = Loaded()
    do throws(ConfigurationError) {
      let file = options.configurationFile ?? paths.configurationFile
      loaded.configuration = try Configuration.load(mainFile: file, dropIns: paths.configurationDropIns)
      problems += loaded.configuration.presetProblems()
    } catch {
      problems += error.problems
    }
    let known = BuiltInHandlers.types.union(handlers.map(\.type))
    do throws(ConfigurationError) { loaded.types = try DeclaredType.load(paths, besides: known) } catch {
      problems += error.problems
    }
    // A type whose own file has a mistake is not missing.
    let types = problems.isEmpty ? known.union(loaded.types.map(\.definition.type)) : nil
    if let types { problems += loaded.configuration.notifierProblems(types: types) }
    do throws(ConfigurationError) {
      loaded.hotFolders = try HotFolder.load(folder: paths.hotFolders) { (job) throws(JobFileError) in
        if let types, !types.contains(job.type), loaded.configuration.jobs.unknownTypes == .refuse {
          throw JobFileError("there is no job type \"\(job.type)\"", key: "type")
        }
      }
    } catch {
      problems += error.problems
    }
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return loaded
  }

  private func check(_ paths: Paths, _ options: Options) throws -> Never {
    let loaded = try load(paths, options)
    let model = try BuiltInModel.merged(withModelsIn: paths.models, and: models)
    for warning in model.warnings { journal.log(.warning, "\(warning)") }
    let types = loaded.types.count
    let declared = types == 1 ? "1 declared job type" : "\(types) declared job types"
    let folders = loaded.hotFolders.count
    let hot = folders == 0 ? "" : folders == 1 ? ", 1 hot folder" : ", \(folders) hot folders"
    let builtIn = try BuiltInHandlers(
      paths, ConfigurationBox(loaded.configuration), coordinator: PersistentStoreCoordinator(model: model),
      imageHelperPath: Executable.ownDirectory() + "/bobbin-image")
    let count = try schedules(paths, loaded, builtIn: builtIn).count
    let scheduled = count == 0 ? "" : count == 1 ? ", 1 schedule" : ", \(count) schedules"
    let lines = try StoreOpening.trial(paths, loaded.configuration, model: model)
    let summary = "the configuration is in order; \(model.entities.count) entities, \(declared)\(hot)\(scheduled)"
    finish(printing: ([summary] + lines).joined(separator: "\n"))
  }

  private func schedules(
    _ paths: Paths, _ loaded: Loaded, builtIn: BuiltInHandlers
  ) throws(ConfigurationError) -> [ScheduledFile] {
    try ScheduledFile.load(
      paths, loaded.configuration, handlers: builtIn.all + handlers + builtIn.handlers(of: loaded.types))
  }

  /// Starts the service; the process ends with a signal, or with an error on the way.
  private func serve(_ paths: Paths, _ options: Options) throws {
    let loaded = try load(paths, options)
    let configuration = loaded.configuration
    let model = try BuiltInModel.merged(withModelsIn: paths.models, and: models)
    if let root = options.root { try makeFolders(of: paths, root: root) }
    let log = DaemonLog(journal: journal, level: configuration.log.level)
    try StoreOpening(paths, configuration, model: model, log: log).begin { result in
      orFail {
        let opened = try result.get()
        let listener = try listen(paths)
        let box = ConfigurationBox(configuration)
        let builtIn = BuiltInHandlers(
          paths, box, coordinator: opened.coordinator,
          imageHelperPath: try Executable.ownDirectory() + "/bobbin-image")
        let parts = Daemon.Parts(
          paths: paths, configuration: box, coordinator: opened.coordinator,
          handlers: builtIn.all + handlers, declaredHandlers: builtIn.handlers(of: loaded.types),
          hotFolders: loaded.hotFolders, killLeftovers: builtIn.killLeftovers, fleet: opened.fleet,
          schedules: try schedules(paths, loaded, builtIn: builtIn), log: log)
        let service = try Service(parts, listener: listener, lock: opened.lock) { () throws in
          let new = try load(paths, options)
          return Service.Settings(
            configuration: new.configuration, declaredHandlers: builtIn.handlers(of: new.types),
            hotFolders: new.hotFolders, schedules: try schedules(paths, new, builtIn: builtIn))
        }
        try service.start()
      }
    }
  }

  private func makeFolders(of paths: Paths, root: String) throws {
    let run = URL(fileURLWithPath: paths.socket).deletingLastPathComponent().path
    let folders = [
      run, paths.configuration, paths.configurationDropIns, paths.handlers, paths.hotFolders, paths.schedules,
      paths.models,
    ]
    for path in folders {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    try FileManager.default.createDirectory(
      atPath: paths.state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  /// The socket that systemd passed, or one of our own.
  private func listen(_ paths: Paths) throws -> UnixListener {
    var passed = try ServiceManager.adoptListenDescriptors()
    if let descriptor = passed.remove(named: "bobbin-http") { return try UnixListener(adopting: descriptor) }
    return try UnixListener(path: paths.socket, mode: 0o666)
  }
}
