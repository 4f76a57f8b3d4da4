import Configuration
import JSONText
import Jobs
import ObjectGraph
import SystemSupport

/// A type that a file in `handlers.d` declares: each attempt is a process, which is told the job on standard input.
///
/// The protocol is in Documentation/ProcessHandlers.md. What the program inserts lands in the attempt's context, and so
/// happens once, whatever crashes.
struct ProcessHandler: OwnHandler {
  let definition: HandlerDefinition
  let launch: ProcessLaunch
  let coordinator: PersistentStoreCoordinator

  var type: String { definition.type }

  var settings: JobTypeSettings {
    var settings = JobTypeSettings()
    settings.maxAttempts = definition.maxAttempts
    settings.concurrent = definition.concurrency
    settings.timeout = definition.timeout ?? Self.forever
    // After SIGKILL the kernel needs a moment, and what the program wrote is read to its end.
    settings.stopLimit = definition.killGrace + .seconds(15)
    return settings
  }

  /// More than any program runs: no limit of the type, rather than that of the configuration.
  private static let forever = Duration.seconds(100 * 365 * 86_400)

  /// - Parameter mark: what the processes have in their environment, so that a later run of the daemon finds them.
  init(_ type: DeclaredType, coordinator: PersistentStoreCoordinator, mark: String) {
    definition = type.definition
    launch = ProcessLaunch(definition: type.definition, account: type.account, mark: mark)
    self.coordinator = coordinator
  }

  func validate(_ arguments: JSONValue) throws(JobFileError) {
    let reader = try ArgumentReader(arguments)
    guard definition.declaresArguments else { return }
    try reader.allow((definition.requiredArguments + definition.optionalArguments).map(\.name))
    for argument in definition.requiredArguments {
      guard reader.value(argument.name) != nil else { throw reader.error("is missing", argument.name) }
      try reader.check(argument)
    }
    for argument in definition.optionalArguments where reader.value(argument.name) != nil { try reader.check(argument) }
  }

  func run(_ execution: JobExecution) async throws -> JSONValue { try await ProcessRun(self, execution).run() }

  func revert(_ execution: JobExecution) async throws { try await ProcessRun(self, execution).revert() }
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
