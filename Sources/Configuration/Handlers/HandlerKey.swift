/// One key of the section `[Handler]`: its notation and the property it sets.
struct HandlerKey: Sendable {
  let name: String
  /// Stores the text's value, or adds it if the key may be repeated; returns the problem if the text is not allowed.
  let assign: @Sendable (_ text: String, _ definition: inout HandlerDefinition) -> String?
  /// Restores the default.
  let reset: @Sendable (_ definition: inout HandlerDefinition) -> Void

  init<Value>(
    _ name: String, _ path: any WritableKeyPath<HandlerDefinition, Value> & Sendable,
    format: ValueFormat<Value>
  ) {
    self.name = name
    assign = { text, definition in
      guard let value = format.parse(text) else { return "expected \(format.allowed)" }
      definition[keyPath: path] = value
      return nil
    }
    reset = { $0[keyPath: path] = HandlerDefinition(file: $0.file)[keyPath: path] }
  }

  /// A key whose value is optional.
  ///
  /// - Parameter noLimit: The word for no value, which can be the opposite of the default.
  init<Value>(
    _ name: String, optional path: any WritableKeyPath<HandlerDefinition, Value?> & Sendable,
    format: ValueFormat<Value>, noLimit: String? = nil
  ) {
    self.init(
      name, path,
      format: ValueFormat<Value?>(
        allowed: format.allowed + (noLimit.map { "; or \($0)" } ?? ""),
        parse: { text in text == noLimit ? .some(nil) : format.parse(text).map(Optional.some) },
        print: { $0.map(format.print) ?? noLimit ?? "" }))
  }

  /// A key whose value is words, each of which is added.
  init<Value>(
    words name: String, _ path: any WritableKeyPath<HandlerDefinition, Value> & Sendable,
    add: @escaping @Sendable (_ word: String, _ value: inout Value) -> String?
  ) {
    self.name = name
    assign = { text, definition in
      do throws(CommandLineWords.Problem) {
        for word in try CommandLineWords.split(text) {
          if let problem = add(word, &definition[keyPath: path]) { return problem }
        }
        return nil
      } catch {
        return error.message
      }
    }
    reset = { $0[keyPath: path] = HandlerDefinition(file: $0.file)[keyPath: path] }
  }

  private init(
    _ name: String, assign: @escaping @Sendable (String, inout HandlerDefinition) -> String?,
    reset: @escaping @Sendable (inout HandlerDefinition) -> Void
  ) {
    self.name = name
    self.assign = assign
    self.reset = reset
  }

  /// The command line.
  static let command = HandlerKey(
    "ExecStart",
    assign: { text, definition in
      do throws(CommandLineWords.Problem) {
        definition.command = try CommandTemplate(text)
        return nil
      } catch {
        return error.message
      }
    }, reset: { $0.command = CommandTemplate() })
}

extension HandlerKey {
  /// Every key there is, in the order of the documentation.
  static let all: [HandlerKey] = [
    HandlerKey("Type", \.type, format: .jobType),
    .command,
    HandlerKey("WorkingDirectory", optional: \.workingDirectory, format: .absolutePath),
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
    HandlerKey("UMask", \.fileModeMask, format: .octal(upTo: 0o777)),
    HandlerKey("User", optional: \.user, format: .userName),
    HandlerKey("Nice", optional: \.niceness, format: .integer(in: -20...19)),

    HandlerKey(
      "TimeoutSec", optional: \.timeout, format: .duration(in: .milliseconds(1) ... .seconds(30 * 86_400)),
      noLimit: "infinity"),
    HandlerKey("KillGraceSec", \.killGrace, format: .duration(in: .zero ... .seconds(3600))),
    HandlerKey("MaxAttempts", optional: \.maxAttempts, format: .integer(in: 1...1000)),
    HandlerKey("Concurrency", optional: \.concurrency, format: .integer(in: 1...1024)),

    HandlerKey("MemoryMax", optional: \.memoryMax, format: .size(in: 1 << 20...1 << 40), noLimit: "infinity"),
    HandlerKey(
      "CPUTimeMax", optional: \.processorTimeMax, format: .duration(in: .seconds(1) ... .seconds(30 * 86_400)),
      noLimit: "infinity"),
    HandlerKey("FileSizeMax", optional: \.fileSizeMax, format: .size(in: 0...1 << 50), noLimit: "infinity"),
    HandlerKey("OpenFilesMax", \.openFilesMax, format: .integer(in: 16...1 << 20)),

    HandlerKey("LogSizeMax", \.logSizeMax, format: .size(in: 1 << 10...16 << 20)),
    HandlerKey("OutputLineMax", \.outputLineMax, format: .size(in: 1 << 10...64 << 20)),
    HandlerKey("InsertSizeMax", \.insertSizeMax, format: .size(in: 64 << 10...1 << 30)),

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
