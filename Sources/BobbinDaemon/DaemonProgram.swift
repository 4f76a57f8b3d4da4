import Foundation
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
  let name: String
  let handlers: [any JobHandler]
  let models: [ManagedObjectModel]

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
  }

  /// Carries out the arguments, usually by running jobs until SIGTERM, and ends the process.
  ///
  /// To be called on the main thread before anything else is started. A mistake in arguments, configuration, handlers
  /// or models is reported on standard error and ends the process with a status of sysexits.h; `--help` lists them.
  /// - Parameter arguments: those of the command line, without the program's name.
  public func run(_ arguments: [String] = Array(CommandLine.arguments.dropFirst())) -> Never {
    ProcessMemory.limitArenas(to: 2)
    // The main queue serves signals and the watchdog; the daemon's work runs on its own executors.
    Command(self, arguments).run()
  }
}
