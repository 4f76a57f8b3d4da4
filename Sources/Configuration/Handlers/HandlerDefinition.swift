/// A job type that a file in `handlers.d` declares, and the program that does its work.
///
/// The initial values here are the defaults, and nowhere else.
package struct HandlerDefinition: Sendable, Equatable {
  /// Where a key was set, for what is found wrong later.
  struct Assignment: Sendable, Equatable {
    let line: Int
    let value: String
  }

  /// The path of the file.
  package let file: String
  var assignments: [String: Assignment] = [:]

  /// The type, as job files name it.
  package internal(set) var type = ""
  /// The program and its arguments.
  package internal(set) var command = CommandTemplate()
  /// Where the program starts; nil for the payload folder.
  package internal(set) var workingDirectory: String?
  /// Variables that the program gets.
  package internal(set) var environment: [String: String] = [:]
  /// Names of variables that the program gets from the daemon's environment.
  package internal(set) var passedEnvironment: [String] = []
  /// The permission bits that the program's files don't get.
  package internal(set) var fileModeMask = 0o027
  /// Who the program runs as; nil for the daemon's user.
  package internal(set) var user: String?
  /// From -20 to 19; nil for the daemon's.
  package internal(set) var niceness: Int?

  /// How long an attempt may take whose job does not say so; nil for any time.
  package internal(set) var timeout: Duration? = .seconds(3600)
  /// How long a program that is to end has between SIGTERM and SIGKILL.
  package internal(set) var killGrace = Duration.seconds(10)
  /// How often a job is started before it is given up; nil for what `[Jobs]` says.
  package internal(set) var maxAttempts: Int?
  /// How many jobs of this type may run at a time; nil for any number.
  package internal(set) var concurrency: Int?

  /// The address space of each of the job's processes, in bytes; nil for no limit.
  package internal(set) var memoryMax: Int?
  /// The processor time of each of the job's processes; nil for no limit.
  package internal(set) var processorTimeMax: Duration?
  /// The largest file that the program may write, in bytes; nil for no limit.
  package internal(set) var fileSizeMax: Int?
  /// How many files each process may have open.
  package internal(set) var openFilesMax = 1024

  /// How much of an attempt's log is kept, in bytes.
  package internal(set) var logSizeMax = 64 << 10
  /// The longest message on standard output, in bytes.
  package internal(set) var outputLineMax = 1 << 20
  /// The most bytes of inserts between two checkpoints, which bounds the memory that a job takes here.
  package internal(set) var insertSizeMax = 16 << 20

  /// Arguments that a job must have.
  package internal(set) var requiredArguments: [HandlerArgument] = []
  /// Arguments that a job may have.
  package internal(set) var optionalArguments: [HandlerArgument] = []

  /// Whether any arguments are declared, so that others are refused.
  package var declaresArguments: Bool { !requiredArguments.isEmpty || !optionalArguments.isEmpty }

  init(file: String) { self.file = file }

  /// Something that is wrong with the value of a key, with the key's place.
  package func problem(_ key: String, _ message: String) -> ConfigurationProblem {
    let assignment = assignments[key]
    return ConfigurationProblem(
      code: .invalidValue, file: file, line: assignment?.line, section: HandlerKey.section, key: key,
      value: assignment?.value, message: message)
  }
}
