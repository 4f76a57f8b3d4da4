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
      let options = try Options(arguments, program: name, environment: ProcessInfo.processInfo.environment)
      if options.showsHelp { finish(printing: Options.help(of: name)) }
      if options.showsVersion { finish(printing: Release.description(of: name)) }
      try HandlerTypes.check(handlers, besides: BuiltInHandlers.types)
      let paths = options.root.map { Paths(root: absolute($0)) } ?? .system
      if options.checksConfiguration { try check(paths, options) }
      if options.buries {
        Burial(paths, configurationFile: options.configurationFile, journal: journal).run()
        ExitCode.success.exitNow()
      }
      if options.pauses { try pause(paths, options) } else { try serve(paths, options) }
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

  /// Loads everything in the folder of the configuration, or throws every mistake in its files.
  private func load(_ paths: Paths, _ options: Options) throws -> Settings {
    let configured = Result { try loadConfiguration(paths, options) }
    let model = Result { try BuiltInModel.merged(withModelsIn: paths.models, and: models) }
    if case .failure(let first) = configured, case .failure(let second) = model {
      throw FolderErrors(errors: [first, second])
    }
    var settings = try configured.get()
    settings.model = try model.get()
    return settings
  }

  /// Loads the configuration, the declared job types and the hot folders, or throws every mistake in their files.
  private func loadConfiguration(_ paths: Paths, _ options: Options) throws(ConfigurationError) -> Settings {
    var problems: [ConfigurationProblem] = []
    var loaded = Settings()
    do throws(ConfigurationError) {
      loaded.configuration = try Configuration.load(paths, mainFile: options.configurationFile)
      problems += loaded.configuration.presetProblems() + loaded.configuration.storeProblems(paths)
    } catch {
      problems += error.problems
    }
    let known = BuiltInHandlers.types.union(handlers.map(\.type))
    do throws(ConfigurationError) { loaded.types = try DeclaredType.load(paths, besides: known) } catch {
      problems += error.problems
    }
    // A type whose own file has a mistake is not missing. Those of the other hosts of a fleet are known later, to each job.
    let types = problems.isEmpty ? known.union(loaded.types.map(\.definition.type)) : nil
    if let types { problems += loaded.configuration.notifierProblems(types: types) }
    do throws(ConfigurationError) {
      loaded.hotFolders = try HotFolder.load(folder: paths.hotFolders) { (job) throws(JobFileError) in
        let settings = loaded.configuration
        if let types, !types.contains(job.type), settings.jobs.unknownTypes == .refuse, settings.store.url.isEmpty {
          throw JobFileError("there is no job type \"\(job.type)\"", key: "type")
        }
      }
    } catch {
      problems += error.problems
    }
    do throws(ConfigurationError) { loaded.tokens = try TokenGrant.load(tokens(paths)) } catch {
      problems += error.problems
    }
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return loaded
  }

  /// The file of tokens: what the service manager has passed, else the one beside the configuration.
  private func tokens(_ paths: Paths) -> String {
    let passed = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"].map { $0 + "/" + Paths.tokensCredential }
    return passed.flatMap { FileManager.default.fileExists(atPath: $0) ? $0 : nil } ?? paths.tokens
  }

  private func check(_ paths: Paths, _ options: Options) throws -> Never {
    let settings = try load(paths, options)
    let paths = paths.placed(by: settings.configuration)
    let model = settings.model
    for warning in model.warnings { journal.log(.warning, "\(warning)") }
    for warning in settings.warnings { journal.log(.warning, warning) }
    // A service may come later than the daemon, so that this is no mistake.
    let owner = try? FileDescriptor.open(paths.state).status().owner
    for problem in settings.types.compactMap({ $0.socketProblem(daemonUser: owner) }) {
      journal.log(.warning, "\(problem)")
    }
    let types = settings.types.count
    let declared = types == 1 ? "1 declared job type" : "\(types) declared job types"
    let folders = settings.hotFolders.count
    let hot = folders == 0 ? "" : folders == 1 ? ", 1 hot folder" : ", \(folders) hot folders"
    let assembly = assembly(
      paths, of: settings, log: DaemonLog(journal: journal, level: settings.configuration.log.level))
    let builtIn = try assembly.builtInHandlers(on: PersistentStoreCoordinator(model: model))
    let schedules = try assembly.schedules(settings, builtIn)
    for warning in schedules.compactMap(\.idleness) { journal.log(.warning, warning) }
    let count = schedules.count
    let scheduled = count == 0 ? "" : count == 1 ? ", 1 schedule" : ", \(count) schedules"
    let programs = ProgramCheck(imageHelper: try Executable.ownDirectory() + "/bobbin-image", settings.types)
    for warning in programs.warnings { journal.log(.warning, warning) }
    var errors = programs.errors
    var lines: [String] = []
    do { lines = try StoreOpening.trial(paths, settings.configuration, model: model) } catch { errors.append(error) }
    if errors.count > 1 { throw FolderErrors(errors: errors) }
    if let error = errors.first { throw error }
    let summary = "the configuration is in order; \(model.entities.count) entities, \(declared)\(hot)\(scheduled)"
    finish(printing: ([summary] + lines).joined(separator: "\n"))
  }

  private func assembly(_ paths: Paths, of settings: Settings, log: DaemonLog) -> Assembly {
    Assembly(paths: paths, configuration: ConfigurationBox(settings.configuration), handlers: handlers, log: log)
  }

  /// Starts the service; the process ends with a signal, or with an error on the way.
  private func serve(_ paths: Paths, _ options: Options) throws {
    if let root = options.root { try paths.checkOwners(ofRoot: root) }
    let settings = try load(paths, options)
    if let root = options.root { try makeFolders(of: paths, root: root) }
    let paths = paths.placed(by: settings.configuration)
    let log = DaemonLog(journal: .ofService(identifier: name), level: settings.configuration.log.level)
    for warning in settings.warnings { log.warning(warning) }
    let opening = StoreOpening(paths, settings.configuration, log: log)
    try opening.endOnSignals()
    opening.begin(settings.model) { result in
      orFail {
        let opened = try result.get()
        let listeners = try Listeners.open(paths, settings.configuration)
        let service = Service(assembly(paths, of: settings, log: log), opening, listeners: listeners) {
          try load(paths, options)
        }
        try service.start(settings, on: opened)
      }
    }
  }

  /// Pauses everything in the store, which no daemon may use, and ends the process.
  private func pause(_ paths: Paths, _ options: Options) throws {
    let settings = try load(paths, options)
    let configuration = settings.configuration
    guard configuration.store.url.isEmpty else {
      throw UsageError("--pause is for a store of this host alone; \"bobbinctl pause\" on one host pauses a fleet")
    }
    let log = DaemonLog(journal: journal, level: configuration.log.level)
    let opening = StoreOpening(paths.placed(by: configuration), configuration, log: log)
    try opening.endOnSignals()
    opening.begin(settings.model) { result in
      orFail {
        let opened = try result.get()
        try PauseRecords.pauseAll(in: opened.coordinator)
        try opened.coordinator.close()
        finish(printing: "everything is paused; \"bobbinctl resume --all\" resumes it once the daemon runs")
      }
    }
  }

  private func makeFolders(of paths: Paths, root: String) throws {
    let run = URL(fileURLWithPath: paths.socket).deletingLastPathComponent().path
    let folders = [
      run, paths.configuration, paths.configurationDropIns, paths.handlers, paths.hotFolders, paths.schedules,
      paths.notifiers, paths.models,
    ]
    for path in folders {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    try FileManager.default.createDirectory(
      atPath: paths.state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }
}

/// The mistakes in several parts of the folder of the configuration.
struct FolderErrors: Error, CustomStringConvertible {
  let errors: [any Error]

  /// A line for each mistake.
  var description: String { errors.map { "\($0)" }.joined(separator: "\n") }
}
