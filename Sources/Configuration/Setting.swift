/// One key of the configuration file: its property, its notation and when a change takes effect.
struct Setting: Sendable {
  let section: String
  let key: String
  let effect: Configuration.Change.Effect
  /// Completes the sentence "expected ...".
  let allowed: String
  /// Stores the text's value; false, and no change, if the text is not allowed.
  let assign: @Sendable (_ text: String, _ configuration: inout Configuration) -> Bool
  /// Copies the value of this key, and of no other, from another configuration.
  let copy: @Sendable (_ source: Configuration, _ configuration: inout Configuration) -> Void
  /// The current value in the form that `assign` reads.
  let print: @Sendable (_ configuration: Configuration) -> String

  init<Value>(
    _ section: String, _ key: String, _ path: any WritableKeyPath<Configuration, Value> & Sendable,
    _ format: ValueFormat<Value>, _ effect: Configuration.Change.Effect
  ) {
    self.section = section
    self.key = key
    self.effect = effect
    allowed = format.allowed
    assign = { text, configuration in
      guard let value = format.parse(text) else { return false }
      configuration[keyPath: path] = value
      return true
    }
    copy = { source, configuration in configuration[keyPath: path] = source[keyPath: path] }
    print = { format.print($0[keyPath: path]) }
  }
}
