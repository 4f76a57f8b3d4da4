package import Configuration
package import JSONText
package import Jobs
package import ObjectGraph
import SystemSupport

/// A type that a file in `handlers.d` declares: each attempt is a process that reads the job from standard input, or a
/// connection to a service that reads it there.
///
/// The protocol is in Documentation/ProcessHandlers.md. What the program inserts lands in the attempt's context, and so
/// happens once, whatever crashes.
package struct ProcessHandler: OwnHandler {
  let definition: HandlerDefinition
  let launch: ProcessLaunch
  let coordinator: PersistentStoreCoordinator

  package var type: String { definition.type }

  package var settings: JobTypeSettings {
    var settings = JobTypeSettings()
    settings.maxAttempts = definition.maxAttempts
    settings.concurrent = definition.concurrency
    settings.isExclusive = definition.isExclusive
    settings.timeout = definition.timeout ?? Self.forever
    // After SIGKILL the kernel needs a moment, and what the program wrote is read to its end.
    settings.stopLimit = (definition.socket == nil ? definition.killGrace : .zero) + .seconds(15)
    return settings
  }

  /// More than any program runs: no limit of the type, rather than that of the configuration.
  private static let forever = Duration.seconds(100 * 365 * 86_400)

  /// Makes the handler of a declared type.
  ///
  /// - Parameters:
  ///   - type: what the file declares.
  ///   - coordinator: has the store open that the programs insert into.
  ///   - mark: put into the environment of the processes, so that a later run of the daemon finds them.
  package init(_ type: DeclaredType, coordinator: PersistentStoreCoordinator, mark: ProcessMark) {
    definition = type.definition
    launch = ProcessLaunch(definition: type.definition, account: type.account, mark: mark)
    self.coordinator = coordinator
  }

  /// As its file declares them; nil if it declares none.
  package var argumentSchema: JSONValue? {
    guard definition.declaresArguments else { return nil }
    let arguments = definition.requiredArguments + definition.optionalArguments
    let properties = arguments.reduce(into: JSONObject()) { $0[$1.name] = Self.schema(of: $1.kind) }
    return ArgumentSchema.object(properties, required: definition.requiredArguments.map(\.name))
  }

  private static func schema(of kind: HandlerArgument.Kind) -> JSONValue {
    switch kind {
    case .any: [:]
    case .string: ArgumentSchema.text
    case .integer: ["type": "integer"]
    case .number: ArgumentSchema.number
    case .boolean: ArgumentSchema.flag
    case .array: ["type": "array"]
    case .object: ["type": "object"]
    case .path: ArgumentSchema.path
    }
  }

  /// Any text: what the program takes it for is not known.
  package func paths(in arguments: JSONValue) -> [String] { arguments.texts }

  /// Those of the arguments that are declared to be paths.
  package func replacingPaths(in arguments: JSONValue, with change: (String) -> String) -> JSONValue {
    (definition.requiredArguments + definition.optionalArguments).filter { $0.kind == .path }
      .reduce(arguments) { $0.replacingText($1.name, with: change) }
  }

  package func validate(_ arguments: JSONValue) throws(JobFileError) {
    let reader = try ArgumentReader(arguments)
    guard definition.declaresArguments else { return }
    try reader.allow((definition.requiredArguments + definition.optionalArguments).map(\.name))
    for argument in definition.requiredArguments {
      guard reader.value(argument.name) != nil else { throw reader.error("is missing", argument.name) }
      try reader.check(argument)
    }
    for argument in definition.optionalArguments where reader.value(argument.name) != nil { try reader.check(argument) }
  }

  package func run(_ execution: JobExecution) async throws -> JSONValue {
    try await ProgramRun(execution, launch: launch, coordinator: coordinator).run()
  }

  package func revert(_ execution: JobExecution) async throws {
    try await ProgramRun(execution, launch: launch, coordinator: coordinator).revert()
  }
}

extension ArgumentReader {
  /// Checks that an argument is of the declared kind.
  fileprivate func check(_ argument: HandlerArgument) throws(JobFileError) {
    guard let value = value(argument.name) else { return }
    let expected: String? =
      switch argument.kind {
      case .any: nil
      case .string: value.string == nil ? "a string" : nil
      case .path: nil
      case .integer: value.integer == nil ? "a whole number" : nil
      case .number: value.number == nil ? "a number" : nil
      case .boolean: value.bool == nil ? "true or false" : nil
      case .array: value.array == nil ? "an array" : nil
      case .object: value.object == nil ? "an object" : nil
      }
    if argument.kind == .path { _ = try requiredPath(argument.name) }
    if let expected { throw error("must be \(expected), not \(value.kindName)", argument.name) }
  }
}

/// A job type declared in `handlers.d`, checked as far as possible without running its program.
package struct DeclaredType: Sendable {
  package let definition: HandlerDefinition
  /// The user that the program runs as; nil for the daemon's user.
  let account: UserAccount?

  /// The reason why jobs would wait for the service now; nil if its socket is there, or a program does the work.
  ///
  /// - Parameter daemonUser: the user as whom the daemon runs, if it is not this process.
  package func socketProblem(daemonUser: UInt32?) -> ConfigurationProblem? {
    definition.socket.flatMap { ServiceSocketFile($0, owner: daemonUser).problem }.map { reason in
      definition.problem("Connect", "jobs of the type wait, as the service can't be reached: \(reason)")
    }
  }

  /// The types that the files of a configuration declare.
  ///
  /// - Parameters:
  ///   - paths: the folder with the files.
  ///   - known: the types that have handlers already, which can't be declared.
  /// - Throws: everything that is wrong in any of the files, by file, line and key.
  package static func load(_ paths: Paths, besides known: Set<String>) throws(ConfigurationError) -> [DeclaredType] {
    var types: [DeclaredType] = []
    var problems: [ConfigurationProblem] = []
    for definition in try HandlerDefinition.load(folder: paths.handlers, builtInTypes: known) {
      do throws(ConfigurationProblem) {
        types.append(DeclaredType(definition: definition, account: try account(of: definition)))
      } catch {
        problems.append(error)
      }
    }
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return types
  }

  private static func account(of definition: HandlerDefinition) throws(ConfigurationProblem) -> UserAccount? {
    guard let name = definition.user else { return nil }
    let found: UserAccount?
    do throws(SystemError) {
      found = try UserAccount.find(name)
    } catch {
      throw definition.problem("User", "can't be looked up: \(error)")
    }
    guard let found else { throw definition.problem("User", "there is no such user") }
    if found.user == Credentials.effectiveUser { return nil }
    guard Credentials.effectiveUser == 0 else {
      throw definition.problem("User", "only a daemon that runs as root can start programs of other users")
    }
    return found
  }
}
