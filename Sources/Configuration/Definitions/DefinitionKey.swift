/// One key of a section: its notation and the property it sets.
struct DefinitionKey<Definition: FileDefinition>: Sendable {
  let name: String
  /// Stores the text's value, or adds it if the key may be repeated; returns the problem if the text is not allowed.
  let assign: @Sendable (_ text: String, _ definition: inout Definition) -> String?
  /// Restores the default.
  let reset: @Sendable (_ definition: inout Definition) -> Void

  init<Value>(
    _ name: String, _ path: any WritableKeyPath<Definition, Value> & Sendable,
    format: ValueFormat<Value>
  ) {
    self.name = name
    assign = { text, definition in
      guard let value = format.parse(text) else { return "expected \(format.allowed)" }
      definition[keyPath: path] = value
      return nil
    }
    reset = { $0[keyPath: path] = Definition(file: $0.file)[keyPath: path] }
  }

  /// A key whose value is optional.
  ///
  /// - Parameter noLimit: The word for no value, which can be the opposite of the default.
  init<Value>(
    _ name: String, optional path: any WritableKeyPath<Definition, Value?> & Sendable,
    format: ValueFormat<Value>, noLimit: String? = nil
  ) {
    self.init(
      name, path,
      format: ValueFormat<Value?>(
        allowed: format.allowed + (noLimit.map { "; or \($0)" } ?? ""),
        parse: { text in text == noLimit ? .some(nil) : format.parse(text).map(Optional.some) },
        text: { $0.map(format.text) ?? noLimit ?? "" }))
  }

  /// A key whose value is words, each of which is added.
  init<Value>(
    words name: String, _ path: any WritableKeyPath<Definition, Value> & Sendable,
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
    reset = { $0[keyPath: path] = Definition(file: $0.file)[keyPath: path] }
  }

  /// A key with a notation of its own.
  init(
    _ name: String, assign: @escaping @Sendable (String, inout Definition) -> String?,
    reset: @escaping @Sendable (inout Definition) -> Void
  ) {
    self.name = name
    self.assign = assign
    self.reset = reset
  }
}
