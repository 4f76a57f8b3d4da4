extension HandlerKey {
  /// Every key there is, in the order of the documentation.
  static let all: [HandlerKey] = [
    HandlerKey("Type", \.type, .jobType),
    .command,
    HandlerKey("WorkingDirectory", optional: \.workingDirectory, .absolutePath),
    HandlerKey(words: "Environment", \.environment) { word, variables in
      guard let equals = word.firstIndex(of: "="), equals != word.startIndex else {
        return "expected assignments such as \"NAME=value\" OTHER=value"
      }
      variables[String(word[..<equals])] = String(word[word.index(after: equals)...])
      return nil
    },
    HandlerKey(words: "PassEnvironment", \.passedEnvironment) { word, names in
      if word.isEmpty || word.contains("=") { return "expected names of variables" }
      names.append(word)
      return nil
    },
    HandlerKey("UMask", \.fileModeMask, .octal(upTo: 0o777)),
    HandlerKey("User", optional: \.user, .userName),
    HandlerKey("Nice", optional: \.niceness, .integer(in: -20...19)),

    HandlerKey(
      "TimeoutSec", optional: \.timeout, .duration(in: .milliseconds(1) ... .seconds(30 * 86_400)), noLimit: "infinity"),
    HandlerKey("KillGraceSec", \.killGrace, .duration(in: .zero ... .seconds(3600))),
    HandlerKey("MaxAttempts", optional: \.maxAttempts, .integer(in: 1...1000)),
    HandlerKey("Concurrency", optional: \.concurrency, .integer(in: 1...1024)),

    HandlerKey("MemoryMax", optional: \.memoryMax, .size(in: 1 << 20...1 << 40), noLimit: "infinity"),
    HandlerKey(
      "CPUTimeMax", optional: \.processorTimeMax, .duration(in: .seconds(1) ... .seconds(30 * 86_400)),
      noLimit: "infinity"),
    HandlerKey("FileSizeMax", optional: \.fileSizeMax, .size(in: 0...1 << 50), noLimit: "infinity"),
    HandlerKey("OpenFilesMax", \.openFilesMax, .integer(in: 16...1 << 20)),

    HandlerKey("LogSizeMax", \.logSizeMax, .size(in: 1 << 10...16 << 20)),
    HandlerKey("OutputLineMax", \.outputLineMax, .size(in: 1 << 10...64 << 20)),
    HandlerKey("InsertSizeMax", \.insertSizeMax, .size(in: 64 << 10...1 << 30)),

    HandlerKey(words: "RequiredArguments", \.requiredArguments, add: addArgument),
    HandlerKey(words: "OptionalArguments", \.optionalArguments, add: addArgument),
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
