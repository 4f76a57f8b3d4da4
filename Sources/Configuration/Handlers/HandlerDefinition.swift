/// A job type that a file in `handlers.d` declares, and the program or the service that does its work.
///
/// The initial values here are the only defaults.
package struct HandlerDefinition: Sendable, Equatable {
  /// The path of the file.
  package let file: String
  package internal(set) var assignments: [String: DefinitionAssignment] = [:]

  /// The type, as job files name it.
  package internal(set) var type = ""
  /// The program and its arguments; empty with a ``socket``.
  package internal(set) var command = CommandTemplate()
  /// The path of the Unix socket where a service does the work; nil for a program that is started.
  package internal(set) var socket: String?
  /// The program's working directory; nil for the payload folder.
  package internal(set) var workingDirectory: String?
  /// Variables that the program gets.
  package internal(set) var environment: [String: String] = [:]
  /// Names of variables that the program gets from the daemon's environment.
  package internal(set) var passedEnvironment: [String] = []
  /// The permission bits that the program's files don't get.
  package internal(set) var fileModeMask = 0o027
  /// The user that the program runs as; nil for the daemon's user.
  package internal(set) var user: String?
  /// From -20 to 19; nil for the daemon's.
  package internal(set) var niceness: Int?

  /// The time limit of an attempt whose job sets none; nil for no limit.
  package internal(set) var timeout: Duration? = .seconds(3600)
  /// The time between SIGTERM and SIGKILL; nil for the default.
  var givenKillGrace: Duration?
  /// True if a program must not run on two hosts of a fleet at a time.
  package internal(set) var isExclusive = false
  /// The most attempts of a job; nil for the value in `[Jobs]`.
  package internal(set) var maxAttempts: Int?
  /// The most jobs of this type that run at a time; nil for any number.
  package internal(set) var concurrency: Int?

  /// The address space of each of the job's processes, in bytes; nil for no limit.
  package internal(set) var memoryMax: Int?
  /// The processor time of each of the job's processes; nil for no limit.
  package internal(set) var processorTimeMax: Duration?
  /// The largest file that the program may write, in bytes; nil for no limit.
  package internal(set) var fileSizeMax: Int?
  /// The most files that each process may have open.
  package internal(set) var openFilesMax = 1024

  /// The most bytes of an attempt's log that are kept.
  package internal(set) var logSizeMax = 64 << 10
  /// The longest message on standard output, in bytes.
  package internal(set) var outputLineMax = 1 << 20
  /// The most bytes of inserts between two checkpoints, which bounds the memory that a job takes here.
  package internal(set) var insertSizeMax = 16 << 20

  /// Arguments that a job must have.
  package internal(set) var requiredArguments: [HandlerArgument] = []
  /// Arguments that a job may have.
  package internal(set) var optionalArguments: [HandlerArgument] = []

  /// The time between SIGTERM and SIGKILL.
  package var killGrace: Duration { givenKillGrace ?? (isExclusive ? Self.exclusiveKillGrace : .seconds(10)) }

  /// The longest time in which an exclusive program can be ended before another host may begin its job.
  private static let exclusiveKillGrace = Duration.milliseconds(500)

  /// True if any arguments are declared, so that others are refused.
  package var declaresArguments: Bool { !requiredArguments.isEmpty || !optionalArguments.isEmpty }

  init(file: String) { self.file = file }

  /// A problem with the value of a key, with the key's place.
  package func problem(_ key: String, _ message: String) -> ConfigurationProblem { valueProblem(key, message) }
}

extension HandlerDefinition {
  /// Reads the `*.conf` files of a folder, which may be missing; each declares one type.
  ///
  /// - Parameter builtInTypes: Types that no file may declare.
  /// - Throws: ``ConfigurationError`` with all problems in all files.
  package static func load(
    folder: String, builtInTypes: Set<String> = []
  ) throws(ConfigurationError) -> [HandlerDefinition] {
    try definitions(in: folder) { definition, others in
      definition.misplacedKeys() + definition.slowEnd()
        + (definition.clash(with: others, builtInTypes).map { [$0] } ?? [])
    }
  }

  /// The keys beside `Connect` that only a program has which the daemon starts.
  private func misplacedKeys() -> [ConfigurationProblem] {
    if assignments["Connect"] == nil { return [] }
    if assignments["ExecStart"] != nil {
      return [problem("Connect", "stands beside ExecStart; a type is served by a program or by a service, not by both")]
    }
    return Self.processKeys.filter { assignments[$0] != nil }.map { key in
      problem(key, "is for a program that ExecStart starts; with Connect the unit of the service says it")
    }
  }

  private func slowEnd() -> [ConfigurationProblem] {
    if !isExclusive || killGrace <= Self.exclusiveKillGrace { return [] }
    return [
      problem(
        "KillGraceSec",
        "is more than 500ms, in which an exclusive program has to end before another host may begin its job")
    ]
  }

  private func clash(with others: [HandlerDefinition], _ builtInTypes: Set<String>) -> ConfigurationProblem? {
    if type.isEmpty { return nil }
    if builtInTypes.contains(type) { return problem("Type", "is a built-in type; choose another name") }
    return others.first { $0.type == type }.map { problem("Type", "is declared in \($0.file) already") }
  }
}

/// An argument that jobs of a declared type have, written `NAME` or `NAME:KIND`.
package struct HandlerArgument: Sendable, Equatable {
  /// The kind of value that an argument must have.
  package enum Kind: String, Sendable, CaseIterable {
    case any, string, integer, number, boolean, array, object
    /// A string that can be a path.
    case path
  }

  package let name: String
  package let kind: Kind

  /// Completes the sentence "expected ...".
  static let allowed =
    "names of arguments, each with an optional kind, such as \"input:path title\"; kinds are "
    + Kind.allCases.map(\.rawValue).joined(separator: ", ")

  init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = parts.first, !name.isEmpty else { return nil }
    self.name = String(name)
    guard parts.count == 2 else {
      kind = .any
      return
    }
    guard let kind = Kind(rawValue: String(parts[1])) else { return nil }
    self.kind = kind
  }
}
