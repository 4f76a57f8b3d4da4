extension JSONParser {
  mutating func array() throws(JSONError) -> [JSONValue] {
    let outer = try open()
    var elements: [JSONValue] = []
    while try goToElement(closing: Byte.closeBracket, isFirst: elements.isEmpty) {
      elements.append(try value())
    }
    close(outer)
    return elements
  }

  mutating func object() throws(JSONError) -> JSONObject {
    let start = index
    let outer = try open()
    var object = JSONObject()
    while try goToElement(closing: Byte.closeBrace, isFirst: object.isEmpty) {
      let place = index
      let key = try key()
      if let existing = object.index(of: key) {
        if limits.duplicateKeys == .error { throw duplicate(key, at: place, inObjectAt: start) }
        object.replaceValue(at: existing, with: try value())
      } else {
        object.appendNew(key, try value())
      }
    }
    close(outer)
    return object
  }

  /// Skips an opening bracket and returns where the container around this one begins.
  mutating func open() throws(JSONError) -> Int? {
    guard depth < limits.depth else {
      throw failure(.tooDeep, at: index, "more than \(limits.depth) arrays and objects inside each other")
    }
    let outer = container
    container = index
    depth += 1
    index += 1
    return outer
  }

  mutating func close(_ outer: Int?) {
    depth -= 1
    container = outer
  }

  /// Goes to the next element or key, past the comma before it; false past the closing bracket.
  mutating func goToElement(closing: UInt8, isFirst: Bool) throws(JSONError) -> Bool {
    try skipSpace()
    if next == closing {
      index += 1
      return false
    }
    if isFirst { return true }
    guard next == Byte.comma else {
      let what = closing == Byte.closeBrace ? "\",\" or \"}\" after a value" : "\",\" or \"]\" after an element"
      throw unexpected("expected \(what)")
    }
    let comma = index
    index += 1
    try skipSpace()
    guard next == closing else { return true }
    guard dialect == .json5 else {
      let bracket = closing == Byte.closeBrace ? "}" : "]"
      throw failure(.unexpectedText, at: comma, "a comma before the closing \"\(bracket)\"; remove it")
    }
    index += 1
    return false
  }

  /// Reads a key and its colon, and goes to its value.
  mutating func key() throws(JSONError) -> String {
    let isQuoted = next == Byte.quote || (next == Byte.apostrophe && dialect == .json5)
    guard isQuoted || dialect == .json5 else { throw missingKey() }
    let key = isQuoted ? try string() : try identifier()
    try skipSpace()
    guard next == Byte.colon else {
      throw unexpected(
        "expected \":\" after the key \"\(quotable(key))\"", hint: isQuoted ? "" : "; put the whole key in quotes")
    }
    index += 1
    try skipSpace()
    return key
  }

  /// A key without quotes.
  private mutating func identifier() throws(JSONError) -> String {
    let start = index
    while isWordByte(next) {
      if next < 0x80 {
        if index == start, (Byte.zero...Byte.nine).contains(next) { throw missingKey() }
        index += 1
      } else {
        let scalar = scalar(at: index)
        let fits = index == start ? scalar.properties.isIDStart : scalar.properties.isIDContinue
        guard fits || scalar == "\u{200C}" || scalar == "\u{200D}" else { break }
        index += UTF8.width(scalar)
      }
    }
    guard index > start else { throw missingKey() }
    return text(start..<index)
  }
}
