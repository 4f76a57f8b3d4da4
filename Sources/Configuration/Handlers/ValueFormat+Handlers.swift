extension ValueFormat where Value == String {
  /// A job type, as job files may name it.
  static var jobType: Self {
    text("1 to 100 letters, digits, dots, hyphens and underscores, such as report.render") { text in
      (1...100).contains(text.utf8.count)
        && text.unicodeScalars.allSatisfy {
          $0.isASCII && $0.properties.isAlphabetic || "0123456789.-_".unicodeScalars.contains($0)
        }
    }
  }

  static var absolutePath: Self { text("an absolute path") { $0.hasPrefix("/") } }

  static var userName: Self { text("the name of a user") { !$0.contains { $0.isWhitespace || $0 == ":" } } }

  private static func text(_ allowed: String, _ isAllowed: @escaping @Sendable (String) -> Bool) -> Self {
    Self(allowed: allowed, parse: { isAllowed($0) ? $0 : nil }, print: { $0 })
  }
}

extension ValueFormat where Value == Int {
  /// Permission bits.
  static func octal(upTo limit: Int) -> Self {
    Self(
      allowed: "an octal number from 0 to \(String(limit, radix: 8))",
      parse: { text in
        guard text.allSatisfy({ $0 >= "0" && $0 <= "7" }) else { return nil }
        return Int(text, radix: 8).flatMap { (0...limit).contains($0) ? $0 : nil }
      },
      print: { "0" + String($0, radix: 8) })
  }
}
