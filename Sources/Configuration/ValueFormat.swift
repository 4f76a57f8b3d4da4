import TextSupport

/// The notation of one type's values in a configuration file, and their allowed range.
struct ValueFormat<Value: Equatable & Sendable>: Sendable {
  /// Completes the sentence "expected ...".
  let allowed: String
  /// The text's value, or nil if the text is not allowed.
  let parse: @Sendable (String) -> Value?
  /// The text that `parse` turns into this value.
  let text: @Sendable (Value) -> String
}

extension ValueFormat where Value == Int {
  static func integer(in range: ClosedRange<Int>) -> Self {
    Self(
      allowed: "a whole number from \(range.lowerBound) to \(range.upperBound)",
      parse: { text in Int(text).flatMap { range.contains($0) ? $0 : nil } },
      text: { String($0) })
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
      text: { $0 ? "yes" : "no" })
  }
}

extension ValueFormat where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
  static var choice: Self {
    Self(
      allowed: "one of " + Value.allCases.map(\.rawValue).joined(separator: ", "),
      parse: { Value(rawValue: $0) },
      text: { $0.rawValue })
  }
}

extension ValueFormat {
  /// The values of another format, or none.
  static func optional<Wrapped>(_ format: ValueFormat<Wrapped>) -> Self where Value == Wrapped? {
    Self(
      allowed: format.allowed, parse: { text in format.parse(text).map { .some($0) } },
      text: { $0.map(format.text) ?? "" })
  }
}

extension ValueFormat where Value == String {
  /// Any text.
  static var text: Self { Self(allowed: "a text", parse: { $0 }, text: { $0 }) }

  /// One of a few words.
  static func word(_ words: [String]) -> Self {
    Self(
      allowed: "one of " + words.joined(separator: ", "), parse: { words.contains($0) ? $0 : nil }, text: { $0 })
  }

  /// Permission bits of a file in base 8.
  static var fileMode: Self {
    Self(
      allowed: "permission bits from 000 to 777, such as 640",
      parse: { text in Int(text, radix: 8).flatMap { (0...0o777).contains($0) && text.utf8.count >= 3 ? text : nil } },
      text: { $0 })
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
      text: { $0 })
  }
}

extension ValueFormat {
  /// Some of an enumeration's words, with spaces between.
  static func choices<Choice: CaseIterable & RawRepresentable<String>>() -> Self where Value == [Choice] {
    let words = ValueFormat<[String]>.words(Choice.allCases.map(\.rawValue))
    return Self(
      allowed: words.allowed, parse: { text in words.parse(text)?.compactMap { Choice(rawValue: $0) } },
      text: { words.text($0.map(\.rawValue)) })
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
      text: { $0.joined(separator: " ") })
  }
}

extension ValueFormat where Value == [String] {
  /// Absolute paths, with spaces between.
  static var absolutePaths: Self {
    list("absolute paths, with spaces between") { $0.hasPrefix("/") }
  }

  /// Names, with spaces between.
  static var names: Self {
    list("names of letters, digits, dots, hyphens and underscores, with spaces between") { name in
      name.utf8.count <= 100 && name.unicodeScalars.allSatisfy(isOfName)
    }
  }

  /// Names of hosts and addresses as browsers send them, with spaces between; kept in lower case.
  static var hostNames: Self {
    Self(
      allowed: "names or addresses without ports, such as jobs.example.com or [::1], with spaces between",
      parse: { text in
        let given = text.lowercased().split(separator: " ").map(String.init)
        return given.allSatisfy { $0.contains(/^([a-z0-9._-]+|\[[0-9a-f:.]+\])$/) } && !given.isEmpty ? given : nil
      },
      text: { $0.joined(separator: " ") })
  }

  private static func list(_ allowed: String, _ isAllowed: @escaping @Sendable (String) -> Bool) -> Self {
    Self(
      allowed: allowed,
      parse: { text in
        let given = text.split(separator: " ").map(String.init)
        return given.allSatisfy(isAllowed) ? given : nil
      },
      text: { $0.joined(separator: " ") })
  }
}

private func isOfName(_ scalar: Unicode.Scalar) -> Bool {
  scalar.isASCII && scalar.properties.isAlphabetic || "0123456789.-_".unicodeScalars.contains(scalar)
}

extension ValueFormat where Value == String {
  /// A host's name among others.
  static var hostName: Self {
    text("a name of up to 100 letters, digits, dots, hyphens and underscores") {
      $0.utf8.count <= 100 && $0.unicodeScalars.allSatisfy(isOfName)
    }
  }

  /// A database of a PostgreSQL server; a password does not belong into the configuration.
  static var databaseURL: Self {
    text("a URL such as postgresql://user@host/database, without a password") { text in
      let rest = ["postgresql://", "postgres://"].first { text.hasPrefix($0) }.map { text.dropFirst($0.count) }
      guard let rest else { return false }
      let authority = rest.prefix { $0 != "?" }
      let user = authority.lastIndex(of: "@").map { authority[..<$0] } ?? ""
      return !user.contains(":") && !rest.contains("password=")
    }
  }
}

extension ValueFormat where Value == String {
  /// A job type, as job files may name it.
  static var jobType: Self {
    text("1 to 100 letters, digits, dots, hyphens and underscores, such as report.render") { text in
      (1...100).contains(text.utf8.count) && text.unicodeScalars.allSatisfy(isOfName)
    }
  }

  static var absolutePath: Self { text("an absolute path") { $0.hasPrefix("/") } }

  /// A folder's absolute path, without slashes at its end.
  static var folderPath: Self {
    Self(
      allowed: absolutePath.allowed,
      parse: { text in
        guard text.hasPrefix("/") else { return nil }
        var path = text[...]
        while path.count > 1, path.last == "/" { path.removeLast() }
        return String(path)
      }, text: { $0 })
  }

  /// An address with a port, to listen at.
  static var listenAddress: Self {
    text("an address and a port, such as 127.0.0.1:26224 or [::1]:26224") {
      $0.contains(/^([0-9.]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}$/)
    }
  }

  static var userName: Self { text("the name of a user") { !$0.contains { $0.isWhitespace || $0 == ":" } } }

  private static func text(_ allowed: String, _ isAllowed: @escaping @Sendable (String) -> Bool) -> Self {
    Self(allowed: allowed, parse: { isAllowed($0) ? $0 : nil }, text: { $0 })
  }
}

extension ValueFormat where Value == [ClosedRange<UInt32>] {
  /// Numbers of users, with spaces between: `0 1000-59999`.
  static var userNumbers: Self {
    Self(
      allowed: "numbers of users and ranges of these, such as 1000-59999, with spaces between",
      parse: { text in
        let words = text.split(separator: " ")
        let ranges = words.compactMap { word -> ClosedRange<UInt32>? in
          let ends = word.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map { UInt32($0) }
          // The last number is nobody's.
          guard let first = ends.first ?? nil, let last = ends.last ?? nil, first <= last, last < .max else {
            return nil
          }
          return first...last
        }
        return ranges.count == words.count ? ranges : nil
      },
      text: { ranges in
        ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: " ")
      })
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
      text: { "0" + String($0, radix: 8) })
  }
}

extension ValueFormat where Value == Int {
  /// A number of bytes, as systemd writes it: `65536`, `64K`, `10M`, `2G`, `1T`, each step being 1024.
  static func size(in range: ClosedRange<Int>) -> Self {
    Self(
      allowed: "a size from \(sizeText(range.lowerBound)) to \(sizeText(range.upperBound)), "
        + "in bytes or with K, M, G or T, such as 64K",
      parse: { text in SizeText.bytes(text).flatMap { range.contains($0) ? $0 : nil } },
      text: { sizeText($0) })
  }

  private static func sizeText(_ bytes: Int) -> String {
    for suffix in SizeText.suffixes where bytes != 0 && bytes % (1 << suffix.shift) == 0 {
      return "\(bytes >> suffix.shift)\(suffix.letter)"
    }
    return String(bytes)
  }
}

extension ValueFormat where Value == Duration {
  /// A time span as systemd.time(7) describes it: `250ms`, `5s`, `2min`, `1h 30min`; a number alone is in seconds.
  ///
  /// The resolution is one microsecond, as in systemd; finer fractions are refused rather than rounded. Months and
  /// years are not offered: their length is a convention, and no setting needs them.
  static func duration(in range: ClosedRange<Duration>) -> Self {
    Self(
      allowed: "a time span from \(TimeSpan.text(of: range.lowerBound)) to \(TimeSpan.text(of: range.upperBound)), "
        + "such as 250ms, 5s or 1h 30min",
      parse: { text in TimeSpan.parse(text).flatMap { range.contains($0) ? $0 : nil } },
      text: { TimeSpan.text(of: $0) })
  }
}

extension ValueFormat where Value == Configuration.Rate? {
  /// A number and a time span: `10/s`, `100/15min`; `infinity` for any number.
  static var rate: Self {
    Self(
      allowed: "a number and a time span, such as 10/s or 100/15min, or infinity",
      parse: { text in
        if text == "infinity" { return .some(nil) }
        return RateText.parse(text).map { Configuration.Rate(count: $0.count, period: $0.period) }
      },
      text: { rate in rate.map { RateText.text(of: $0.count, per: $0.period) } ?? "infinity" })
  }
}

extension ValueFormat where Value == BackoffGrowth? {
  /// One of the words, or `default`.
  static var optionalChoice: Self {
    let words = BackoffGrowth.allCases.map(\.rawValue)
    return Self(
      allowed: "one of default, " + words.joined(separator: ", "),
      parse: { text in text == "default" ? .some(nil) : BackoffGrowth(rawValue: text).map { $0 } },
      text: { $0?.rawValue ?? "default" })
  }
}

/// A number of bytes in a text, as systemd writes it: `65536`, `64K`, `10M`, `2G`, `1T`, each step being 1024.
package enum SizeText {
  static var suffixes: [(letter: Character, shift: Int)] { [("T", 40), ("G", 30), ("M", 20), ("K", 10)] }

  /// Parses the text.
  ///
  /// - Returns: Nil for any other text, and for a number that does not fit.
  package static func bytes(_ text: String) -> Int? {
    guard let suffix = suffixes.first(where: { $0.letter == text.last }) else { return Int(text) }
    guard let count = Int(text.dropLast()) else { return nil }
    let (bytes, overflow) = count.multipliedReportingOverflow(by: 1 << suffix.shift)
    return overflow ? nil : bytes
  }
}
