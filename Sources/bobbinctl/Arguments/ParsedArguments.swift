import TextSupport

/// Arguments sorted into options and operands, with all mistakes.
///
/// Options may stand among the operands; after `--` all are operands, and so are a single dash and negative numbers.
struct ParsedArguments {
  private(set) var operands: [String] = []
  /// The arguments after the first operand, when parsing stops there.
  private(set) var rest: [String] = []
  /// Sentences for the user, in the order of the arguments.
  private(set) var problems: [String] = []
  private var values: [String: [String]] = [:]
  private let options: [Option]

  init(_ arguments: [String], options: [Option], stopsAtOperand: Bool = false) {
    self.options = options
    var remaining = arguments[...]
    while let argument = remaining.popFirst() {
      if argument == "--" {
        operands += remaining
        // Nothing after the dashes can be an option, and a command needs none before it.
        if stopsAtOperand { rest = operands.isEmpty ? [] : ["--"] + operands.dropFirst() }
        return
      } else if argument.hasPrefix("-"), argument != "-", Int(argument) == nil {
        takeOption(argument, &remaining)
      } else {
        operands.append(argument)
        if stopsAtOperand {
          rest = Array(remaining)
          return
        }
      }
    }
  }

  func has(_ name: String) -> Bool {
    values[name] != nil
  }

  /// An option's value; empty if it was given without one.
  subscript(_ name: String) -> String? {
    values[name]?.first
  }

  /// All values of an option that may be repeated, in their order.
  func all(_ name: String) -> [String] { values[name] ?? [] }

  mutating func addProblem(_ problem: String) {
    problems.append(problem)
  }

  /// An option's value as a whole number; nil if it is missing, or wrong, which becomes a problem.
  mutating func number(_ name: String, in range: ClosedRange<Int>) -> Int? {
    guard let text = self[name] else { return nil }
    if let number = Int(text), range.contains(number) { return number }
    addProblem("\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
    return nil
  }

  private mutating func takeOption(_ argument: String, _ remaining: inout ArraySlice<String>) {
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
