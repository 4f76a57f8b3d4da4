extension ValueFormat {
  /// The values of another format, or none.
  static func optional<Wrapped>(_ format: ValueFormat<Wrapped>) -> Self where Value == Wrapped? {
    Self(
      allowed: format.allowed, parse: { text in format.parse(text).map { .some($0) } },
      print: { $0.map(format.print) ?? "" })
  }
}

extension ValueFormat where Value == String {
  /// Any text.
  static var text: Self { Self(allowed: "a text", parse: { $0 }, print: { $0 }) }

  /// One of a few words.
  static func word(_ words: [String]) -> Self {
    Self(
      allowed: "one of " + words.joined(separator: ", "), parse: { words.contains($0) ? $0 : nil }, print: { $0 })
  }

  /// Permission bits of a file in base 8.
  static var fileMode: Self {
    Self(
      allowed: "permission bits from 000 to 777, such as 640",
      parse: { text in Int(text, radix: 8).flatMap { (0...0o777).contains($0) && text.utf8.count >= 3 ? text : nil } },
      print: { $0 })
  }

  /// A colour as in style sheets.
  static var colour: Self {
    Self(
      allowed: "#rrggbb, #rrggbbaa, white, black or transparent",
      parse: { text in
        let digits = text.dropFirst()
        let isNumber = text.first == "#" && [6, 8].contains(digits.count) && digits.allSatisfy(\.isHexDigit)
        return isNumber || ["white", "black", "transparent"].contains(text) ? text : nil
      },
      print: { $0 })
  }
}

extension ValueFormat where Value == [String] {
  /// Some of a few words, with spaces between.
  static func words(_ words: [String]) -> Self {
    Self(
      allowed: "some of \(words.joined(separator: ", ")), with spaces between",
      parse: { text in
        let given = text.split(separator: " ").map(String.init)
        return given.allSatisfy(words.contains) && !given.isEmpty ? given : nil
      },
      print: { $0.joined(separator: " ") })
  }
}
