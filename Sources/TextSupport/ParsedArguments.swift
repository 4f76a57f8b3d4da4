/// Arguments sorted into options and operands, with all mistakes.
///
/// Options may stand among the operands; after `--` all are operands, and so are a single dash and negative numbers.
package struct ParsedArguments {
  package private(set) var operands: [String] = []
  /// The arguments after the first operand, when parsing stops there.
  package private(set) var rest: [String] = []
  /// Sentences for the user, in the order of the arguments.
  package private(set) var problems: [String] = []
  private var values: [String: [String]] = [:]
  private let options: [Option]

  /// Sorts arguments.
  ///
  /// - Parameters:
  ///   - arguments: Those after the program's or the command's name.
  ///   - options: The known options.
  ///   - stopsAtOperand: True if everything after the first operand is left for another parser.
  package init(_ arguments: [String], options: [Option], stopsAtOperand: Bool = false) {
    self.options = options
    var remaining = arguments[...]
    while let argument = remaining.popFirst() {
      if argument == "--" {
        operands += remaining
        // Nothing after the dashes can be an option, and a command needs none before it.
        if stopsAtOperand { rest = operands.isEmpty ? [] : ["--"] + operands.dropFirst() }
        return
      } else if argument.hasPrefix("-"), argument != "-", Int(argument) == nil {
        parseOption(argument, &remaining)
      } else {
        operands.append(argument)
        if stopsAtOperand {
          rest = Array(remaining)
          return
        }
      }
    }
  }

  /// True if the option is given.
  package func has(_ name: String) -> Bool {
    values[name] != nil
  }

  /// An option's value; empty if it was given without one.
  package subscript(_ name: String) -> String? {
    values[name]?.first
  }

  /// All values of an option that may be repeated, in their order.
  package func all(_ name: String) -> [String] { values[name] ?? [] }

  package mutating func addProblem(_ problem: String) {
    problems.append(problem)
  }

  /// An option's value as a whole number; nil if it is missing, or wrong, which becomes a problem.
  package mutating func number(_ name: String, in range: ClosedRange<Int>) -> Int? {
    guard let text = self[name] else { return nil }
    if let number = Int(text), range.contains(number) { return number }
    addProblem("\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
    return nil
  }

  /// An option's value as a time span in systemd's notation; nil if it is missing, or wrong, which becomes a problem.
  package mutating func timeSpan(_ name: String, upTo limit: Duration) -> Duration? {
    guard let text = self[name] else { return nil }
    if let span = TimeSpan.parse(text), span <= limit { return span }
    addProblem(
      "\(name) takes a time span of at most \(TimeSpan.text(of: limit)), such as 90s, 10min or 3h, not \"\(text)\"")
    return nil
  }

  private mutating func parseOption(_ argument: String, _ remaining: inout ArraySlice<String>) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    var value = parts.count == 2 ? String(parts[1]) : nil
    guard let option = options.first(where: { $0.name == name }) else {
      // Whoever is far off, as with -h, is helped by any name.
      let nearest = NearestName.find(name, in: options.map(\.name), within: .max) ?? ""
      return addProblem("there is no option \(name); do you mean \(nearest)?")
    }
    switch option.value {
    case .none:
      if value != nil { addProblem("\(name) takes no value") }
    case .required:
      if value == nil { value = remaining.popFirst() }
      guard let value, !value.isEmpty else { return addProblem("\(name) needs a value: \(option.synopsis)") }
    case .optional:
      if value == "" { addProblem("a value is missing after \(name)=") }
    }
    // A switch that is given again says nothing new; of two values one would be dropped in silence.
    if values[name] != nil, !option.isRepeatable {
      if case .none = option.value { return }
      return addProblem("\(name) is given twice")
    }
    values[name, default: []].append(value ?? "")
  }
}

/// An option of the command line.
package struct Option: Sendable {
  package enum Value: Sendable {
    case none
    /// `--name VALUE` or `--name=VALUE`, with the value's name for the help.
    case required(String)
    /// `--name` or `--name=VALUE`: what follows as an argument of its own is no value.
    case optional(String)
  }

  /// With its dashes.
  package let name: String
  package let value: Value
  /// One line, no full stop.
  package let help: String
  /// True if it may be given several times, for several values.
  package let isRepeatable: Bool

  package init(_ name: String, _ value: Value, help: String, isRepeatable: Bool = false) {
    self.name = name
    self.value = value
    self.help = help
    self.isRepeatable = isRepeatable
  }

  /// The option with its value, for the help.
  package var synopsis: String {
    switch value {
    case .none: name
    case .required(let value): "\(name) \(value)"
    case .optional(let value): "\(name)[=\(value)]"
    }
  }
}
