/// The notation of one type's values in a configuration file, and their allowed range.
struct ValueFormat<Value: Equatable & Sendable>: Sendable {
  /// Completes the sentence "expected ...".
  let allowed: String
  /// The text's value, or nil if the text is not allowed.
  let parse: @Sendable (String) -> Value?
  /// The text that `parse` turns into this value.
  let print: @Sendable (Value) -> String
}

extension ValueFormat where Value == Int {
  static func integer(in range: ClosedRange<Int>) -> Self {
    Self(
      allowed: "a whole number from \(range.lowerBound) to \(range.upperBound)",
      parse: { text in Int(text).flatMap { range.contains($0) ? $0 : nil } },
      print: { String($0) })
  }
}

extension ValueFormat where Value == Bool {
  static var boolean: Self {
    Self(
      allowed: "yes or no (also true, false, on, off, 1, 0)",
      parse: { text in
        switch text.lowercased() {
        case "yes", "true", "on", "1": true
        case "no", "false", "off", "0": false
        default: nil
        }
      },
      print: { $0 ? "yes" : "no" })
  }
}

extension ValueFormat where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
  static var choice: Self {
    Self(
      allowed: "one of " + Value.allCases.map(\.rawValue).joined(separator: ", "),
      parse: { Value(rawValue: $0) },
      print: { $0.rawValue })
  }
}
