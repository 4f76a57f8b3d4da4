extension HandlerDefinition: FileDefinition {
  static let section = "Handler"
  static let fileKind = "a handler's file"
  static let requiredKeys = [["Type"], [command.name, "Connect"]]

  /// The command line.
  static let command = DefinitionKey<HandlerDefinition>(
    "ExecStart",
    assign: { text, definition in
      do throws(CommandLineWords.Problem) {
        definition.command = try CommandTemplate(text)
        return nil
      } catch {
        return error.message
      }
    }, reset: { $0.command = CommandTemplate() })

  static let keys: [DefinitionKey<HandlerDefinition>] = [
    DefinitionKey("Type", \.type, format: .jobType),
    command,
    DefinitionKey("Connect", optional: \.socket, format: .absolutePath),
    DefinitionKey("WorkingDirectory", optional: \.workingDirectory, format: .absolutePath),
    DefinitionKey(words: "Environment", \.environment) { word, variables in
      guard let equals = word.firstIndex(of: "="), equals != word.startIndex else {
        return "expected assignments such as \"NAME=value\" OTHER=value"
      }
      variables[String(word[..<equals])] = String(word[word.index(after: equals)...])
      return nil
    },
    DefinitionKey(words: "PassEnvironment", \.passedEnvironment) { word, names in
      if word.isEmpty || word.contains("=") { return "expected names of variables" }
      names.append(word)
      return nil
    },
    DefinitionKey("UMask", \.fileModeMask, format: .octal(upTo: 0o777)),
    DefinitionKey("User", optional: \.user, format: .userName),
    DefinitionKey("Nice", optional: \.niceness, format: .integer(in: -20...19)),

    DefinitionKey(
      "TimeoutSec", optional: \.timeout, format: .duration(in: .milliseconds(1) ... .seconds(30 * 86_400)),
      noLimit: "infinity"),
    DefinitionKey("KillGraceSec", optional: \.givenKillGrace, format: .duration(in: .zero ... .seconds(3600))),
    DefinitionKey("Exclusive", \.isExclusive, format: .boolean),
    DefinitionKey("MaxAttempts", optional: \.maxAttempts, format: .integer(in: 1...1000)),
    DefinitionKey("Concurrency", optional: \.concurrency, format: .integer(in: 1...1024)),

    DefinitionKey("MemoryMax", optional: \.memoryMax, format: .size(in: 1 << 20...1 << 40), noLimit: "infinity"),
    DefinitionKey(
      "CPUTimeMax", optional: \.processorTimeMax, format: .duration(in: .seconds(1) ... .seconds(30 * 86_400)),
      noLimit: "infinity"),
    DefinitionKey("FileSizeMax", optional: \.fileSizeMax, format: .size(in: 0...1 << 50), noLimit: "infinity"),
    DefinitionKey("OpenFilesMax", \.openFilesMax, format: .integer(in: 16...1 << 20)),

    DefinitionKey("LogSizeMax", \.logSizeMax, format: .size(in: 1 << 10...16 << 20)),
    DefinitionKey("OutputLineMax", \.outputLineMax, format: .size(in: 1 << 10...64 << 20)),
    DefinitionKey("InsertSizeMax", \.insertSizeMax, format: .size(in: 64 << 10...1 << 30)),

    DefinitionKey(words: "RequiredArguments", \.requiredArguments, add: addArgument),
    DefinitionKey(words: "OptionalArguments", \.optionalArguments, add: addArgument),
  ]

  /// The keys of a program that the daemon starts, in their order; a service's unit has its own for them.
  static let processKeys = [
    "WorkingDirectory", "Environment", "PassEnvironment", "UMask", "User", "Nice", "KillGraceSec", "Exclusive",
    "MemoryMax", "CPUTimeMax", "FileSizeMax", "OpenFilesMax",
  ]

  private static let addArgument: @Sendable (String, inout [HandlerArgument]) -> String? = { word, arguments in
    guard let argument = HandlerArgument(word) else { return "expected \(HandlerArgument.allowed)" }
    if arguments.contains(where: { $0.name == argument.name }) {
      return "the argument \"\(argument.name)\" occurs twice"
    }
    arguments.append(argument)
    return nil
  }
}
