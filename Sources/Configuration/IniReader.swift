import CInih

/// Reads one text with inih and makes an entry of each line.
///
/// inih splits sections, keys and values. It would, however, cut long lines in two, drop what follows ` ;` or `]`,
/// stop at a NUL byte, take an indented line for the continuation of the value before it, and report only the first
/// line it can't read. So every line is checked before inih gets it, and such a line becomes an entry of its own.
/// inih's settings are global variables of the process; its defaults are used, so that nothing else is affected.
final class IniReader {
  private let lines: [ArraySlice<UInt8>]
  private var lineNumber = 0
  /// The assignment last given to inih, until inih reports it.
  private var pendingLine: String?
  private var entries: [IniEntry] = []

  private init(_ text: [UInt8]) {
    let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let content = text.starts(with: byteOrderMark) ? text.dropFirst(byteOrderMark.count) : text[...]
    lines = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  }

  /// The entries of the text's lines, in order, without empty lines and comments.
  static func entries(of text: [UInt8]) -> [IniEntry] {
    let reader = IniReader(text)
    // The pointer is only used during the call, and `reader` lives until after it.
    let user = Unmanaged.passUnretained(reader).toOpaque()
    _ = withExtendedLifetime(reader) {
      ini_parse_stream(
        { buffer, capacity, stream in
          guard let buffer, let stream else { return nil }
          let reader = Unmanaged<IniReader>.fromOpaque(stream).takeUnretainedValue()
          return reader.supplyLine(buffer, capacity: Int(capacity)) ? buffer : nil
        },
        user,
        { user, section, key, value in
          guard let user, let section, let key, let value else { return 0 }
          Unmanaged<IniReader>.fromOpaque(user).takeUnretainedValue()
            .receive(section: String(cString: section), key: String(cString: key), value: String(cString: value))
          return 1
        },
        user)
    }
    return reader.entries
  }

  /// Puts the next line into inih's buffer; false at the end of the text.
  private func supplyLine(_ buffer: UnsafeMutablePointer<CChar>, capacity: Int) -> Bool {
    if let pendingLine { note(.malformed(.missingAssignment, text: pendingLine)) }
    pendingLine = nil
    guard lineNumber < lines.count else { return false }
    lineNumber += 1
    // Room for the line feed and the NUL that end the line.
    let line = checked(lines[lineNumber - 1], limit: capacity - 2)
    for (index, byte) in line.enumerated() { buffer[index] = CChar(bitPattern: byte) }
    buffer[line.count] = CChar(bitPattern: UInt8(ascii: "\n"))
    buffer[line.count + 1] = 0
    return true
  }

  private func receive(section: String, key: String, value: String) {
    pendingLine = nil
    note(.assignment(section: section, key: key, value: value))
  }

  /// The line as inih can read it; an empty one for comments and for lines that become an entry here.
  private func checked(_ line: ArraySlice<UInt8>, limit: Int) -> String.UTF8View {
    let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == 13 }
    let bytes = line.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
    guard let first = bytes.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { return "".utf8 }
    let isSection = first == UInt8(ascii: "[")

    /// Keys after a section line that can't be read must not be taken for keys of the section before it.
    func refuse(_ code: ConfigurationProblem.Code, _ text: String) -> String.UTF8View {
      note(.malformed(code, text: text))
      return isSection ? IniEntry.replacementSection.utf8 : "".utf8
    }

    guard let text = String(validating: bytes, as: UTF8.self),
      !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control && $0 != "\t" })
    else { return refuse(.invalidText, "") }
    guard bytes.count <= limit else { return refuse(.lineTooLong, "\(limit)") }
    let startsComment = zip(bytes, bytes.dropFirst()).contains { isBlank($0) && $1 == UInt8(ascii: ";") }
    guard !startsComment else { return refuse(.inlineComment, text) }

    if isSection {
      guard text.hasSuffix("]"), text.count > 2 else { return refuse(.malformedSection, text) }
      let name = String(text.dropFirst().dropLast())
      // Longer names than inih's 49 bytes are cut; no section that exists has such a name.
      guard name.utf8.count < 50, !name.contains("]") else { return refuse(.unknownSection, name) }
      note(.section(name))
    } else {
      pendingLine = text
    }
    return text.utf8
  }

  private func note(_ content: IniEntry.Content) { entries.append(IniEntry(line: lineNumber, content: content)) }
}

/// The content of one line of a configuration file.
struct IniEntry: Equatable {
  enum Content: Equatable {
    case section(String)
    case assignment(section: String, key: String, value: String)
    /// A line that can't be used: its text, or for a line that is too long the limit in bytes.
    case malformed(ConfigurationProblem.Code, text: String)

    /// The same with a name for the only section that the file may have.
    func naming(_ section: String, _ name: String) -> Content {
      switch self {
      case .section(section): .section("\(section) \(name)")
      case .section(let other): .malformed(.unknownSection, text: other)
      case .assignment(section, let key, let value): .assignment(section: "\(section) \(name)", key: key, value: value)
      default: self
      }
    }
  }

  /// The line that inih gets instead of a malformed section line; its assignments belong to no section that exists.
  static let replacementSection = "[?]"

  /// Counted from 1.
  let line: Int
  let content: Content
}
