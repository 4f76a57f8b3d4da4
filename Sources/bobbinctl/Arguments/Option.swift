/// An option of the command line.
struct Option {
  enum Value {
    case none
    /// `--name VALUE` or `--name=VALUE`, with the value's name for the help.
    case required(String)
    /// `--name` or `--name=VALUE`: what follows as an argument of its own is no value.
    case optional(String)
  }

  /// With its dashes.
  let name: String
  let value: Value
  /// One line, no full stop.
  let help: String
  /// True if it may be given several times, for several values.
  let isRepeatable: Bool

  init(_ name: String, _ value: Value, _ help: String, isRepeatable: Bool = false) {
    self.name = name
    self.value = value
    self.help = help
    self.isRepeatable = isRepeatable
  }

  var synopsis: String {
    switch value {
    case .none: name
    case .required(let value): "\(name) \(value)"
    case .optional(let value): "\(name)[=\(value)]"
    }
  }
}
