import Configuration
import Dispatch
import Foundation
import JobDaemon
import ObjectGraph
import ObjectModel
import SystemSupport

/// The daemon's command line: from its arguments to its exit code.
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
    // which the programs that it starts do not need.
    do { try Capabilities.keepFromChildren() } catch {
      journal.log(.warning, "programs that are started inherit capabilities: \(error)")
    }
    orFail {
      let options = try Options(arguments, program: program.name)
      if options.showsHelp { finish(printing: Options.help(of: program.name)) }
      if options.showsVersion { finish(printing: "\(program.name) \(Release.version)") }
      try HandlerTypes.check(program.handlers)
      let paths = options.root.map { Paths(root: absolute($0)) } ?? .system
      if options.checksConfiguration { try check(paths, options) }
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

  /// Loads the configuration and the declared job types, or throws every mistake in their files.
  private func load(
    _ paths: Paths, _ options: Options
  ) throws(ConfigurationError) -> (Configuration, [DeclaredType]) {
    var problems: [ConfigurationProblem] = []
    var configuration = Configuration()
    var types: [DeclaredType] = []
    do throws(ConfigurationError) {
      let file = options.configurationFile ?? paths.configurationFile
      configuration = try Configuration.load(mainFile: file, dropIns: paths.configurationDropIns)
      problems += configuration.presetProblems()
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
    let (configuration, types) = try load(paths, options)
    let model = try BuiltInModel.merged(withModelsIn: paths.models, and: program.models)
    for warning in model.warnings { journal.log(.warning, "\(warning)") }
    let declared = types.count == 1 ? "1 declared job type" : "\(types.count) declared job types"
    let lines = try StoreOpening.trial(paths, configuration, model)
    let summary = "the configuration is in order; \(model.entities.count) entities, \(declared)"
    finish(printing: ([summary] + lines).joined(separator: "\n"))
  }

  /// Starts the service; the process ends with a signal, or with an error on the way.
  private func serve(_ paths: Paths, _ options: Options) throws {
    let (configuration, types) = try load(paths, options)
    let model = try BuiltInModel.merged(withModelsIn: paths.models, and: program.models)
    if let root = options.root { try makeFolders(of: paths, root: root) }
    let log = DaemonLog(journal: journal, level: configuration.log.level)
    try StoreOpening(paths, configuration, model, log).begin { result in
      orFail {
        let opened = try result.get()
        let listener = try listen(paths)
        let parts = Daemon.Parts(
          paths: paths, configuration: configuration, coordinator: opened.coordinator,
          imageHelperPath: try Executable.ownDirectory() + "/bobbin-image", handlers: program.handlers,
          declaredTypes: types, log: log)
        let service = try Service(parts, listener: listener, lock: opened.lock) { () throws in
          try load(paths, options)
        }
        try service.start()
      }
    }
  }

  private func makeFolders(of paths: Paths, root: String) throws {
    let run = URL(fileURLWithPath: paths.socket).deletingLastPathComponent().path
    for path in [run, paths.configuration, paths.configurationDropIns, paths.handlers, paths.models] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    try FileManager.default.createDirectory(
      atPath: paths.state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  /// The socket that systemd passed, or one of our own.
  private func listen(_ paths: Paths) throws -> UnixListener {
    var passed = try ServiceManager.takeListenDescriptors()
    if let descriptor = passed.take(named: "bobbin-http") { return try UnixListener(adopting: descriptor) }
    return try UnixListener(path: paths.socket, mode: 0o666)
  }
}
