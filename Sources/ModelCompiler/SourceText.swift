/// Swift source under construction, two spaces a level, as `swift format` would leave it.
struct SourceText {
  private(set) var text = ""
  private var level = 0

  mutating func add(_ line: String) {
    text += line.isEmpty ? "\n" : indentation + line + "\n"
  }

  mutating func indented(_ body: (inout SourceText) -> Void) {
    level += 1
    body(&self)
    level -= 1
  }

  /// Adds a comment of as many lines as the text has.
  mutating func add(comment: String) {
    for line in comment.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      add(line.isEmpty ? "///" : "/// " + line)
    }
  }

  /// Adds a dictionary literal, one pair a line; `prefix` is what comes before its bracket.
  mutating func add(prefix: String = "", list: [(key: String, value: String)]) {
    guard !list.isEmpty else { return add(prefix + "[:]") }
    add(prefix + "[")
    indented { source in
      // The formatter wants a comma after the last of several elements, and none after a single one.
      for pair in list { source.add("\(pair.key): \(pair.value)" + (list.count > 1 ? "," : "")) }
    }
    add("]")
  }

  /// Ends the line just added with a raw string literal of several lines.
  mutating func append(rawString string: String) {
    // As many signs as it takes for nothing in the text to end the literal or to begin an interpolation.
    var fence = "#"
    while string.contains("\"\"\"" + fence) || string.contains("\\" + fence) { fence += "#" }
    text.removeLast()
    text += fence + "\"\"\"\n"
    indented { source in
      // XML reads every line end as a line feed; a byte order mark has done its work when the text was decoded.
      let text = string.drop { $0 == "\u{feff}" }
      for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isLineEnd) { source.add(String(line)) }
      source.add("\"\"\"" + fence)
    }
  }

  private var indentation: String { String(repeating: "  ", count: level) }
}

extension Character {
  fileprivate var isLineEnd: Bool { self == "\n" || self == "\r\n" || self == "\r" }
}
