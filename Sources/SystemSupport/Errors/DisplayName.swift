/// Makes a file name or other foreign bytes safe to print on one line of a log or terminal.
///
/// Valid printable UTF-8 stays as it is. Control characters, invisible format characters (which can reorder or hide
/// text), line separators, backslashes, quotation marks and bytes that aren't UTF-8 become `\n`, `\t`, `\\`, `\"`,
/// `\xHH` per byte or `\u{H}`, so that no two names look the same.
package func displayName(_ bytes: some Collection<UInt8>) -> String {
  if bytes.allSatisfy(isPlain) { return String(decoding: bytes, as: UTF8.self) }
  var result = ""
  var rest = Array(bytes)[...]
  while let first = rest.first {
    // A scalar takes at most four bytes: the shortest valid prefix is the next one.
    let length = first < 0x80 ? 1 : (2...4).first { String(validating: rest.prefix($0), as: UTF8.self) != nil }
    if let length, let scalar = String(validating: rest.prefix(length), as: UTF8.self)?.unicodeScalars.first {
      result += escaped(scalar)
      rest = rest.dropFirst(length)
    } else {
      result += hexadecimal(first)
      rest = rest.dropFirst()
    }
  }
  return result
}

/// Makes text that came from outside safe to print on one line of a log or terminal.
package func displayName(_ text: String) -> String {
  text.utf8.allSatisfy(isPlain) ? text : text.unicodeScalars.reduce(into: "") { $0 += escaped($1) }
}

/// True if a byte is a character of its own that stays as it is, as those of most names do.
private func isPlain(_ byte: UInt8) -> Bool {
  0x20..<0x7f ~= byte && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "\"")
}

/// Makes a message safe to print on one line of a log or terminal; unlike a name it keeps quotation marks and backslashes.
package func singleLine(_ text: String) -> String {
  text.unicodeScalars.reduce(into: "") { result, scalar in
    result += scalar == "\\" || scalar == "\"" ? String(Character(scalar)) : escaped(scalar)
  }
}

/// Makes a message safe to print on one line, and cuts it off after a number of characters.
package func singleLine(_ text: String, limit: Int) -> String {
  let line = singleLine(String(text.unicodeScalars.prefix(limit)))
  // Escaped text is longer than the original.
  return line.count <= limit && text.unicodeScalars.count <= limit ? line : line.prefix(limit) + "..."
}

extension Unicode.Scalar {
  /// True if it is invisible and can disturb its surroundings: it drives a terminal, ends a line, or hides or
  /// reorders text.
  package var isControlOrFormat: Bool {
    if value < 0x7f { return value < 0x20 }
    return switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}

private func escaped(_ scalar: Unicode.Scalar) -> String {
  switch scalar {
  case "\n": return "\\n"
  case "\r": return "\\r"
  case "\t": return "\\t"
  case "\\": return "\\\\"
  case "\"": return "\\\""
  default: break
  }
  switch scalar.properties.generalCategory {
  case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
    return scalar.isASCII ? hexadecimal(UInt8(scalar.value)) : "\\u{\(String(scalar.value, radix: 16))}"
  default:
    return String(Character(scalar))
  }
}

private func hexadecimal(_ byte: UInt8) -> String {
  let digits = String(byte, radix: 16)
  return "\\x" + (digits.count == 1 ? "0" : "") + digits
}
