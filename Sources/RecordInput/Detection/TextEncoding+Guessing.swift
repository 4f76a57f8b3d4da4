import DelimitedText

extension TextEncoding {
  /// Guesses from the first bytes of a text.
  ///
  /// A byte order mark decides; zeros at every other place mean UTF-16, at three of four UTF-32. Text that is no UTF-8, and in which every byte
  /// means something in Windows-1252, is taken for that.
  init(guessedFrom bytes: [UInt8]) {
    self = Self.marked(bytes) ?? Self.zeros(bytes) ?? Self.bytewise(bytes)
  }

  /// The encoding that a text is in which is said to be in this one: without a byte order mark, zeros tell the order.
  func ordered(by bytes: [UInt8]) -> TextEncoding {
    guard name == "utf-16" || name == "utf-32", Self.marked(bytes) == nil, let found = Self.zeros(bytes),
      found.unitSize == unitSize
    else { return self }
    return found
  }

  private static func marked(_ bytes: [UInt8]) -> TextEncoding? {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return .utf8 }
    if bytes.starts(with: [0xFF, 0xFE, 0, 0]) { return .utf32LittleEndian }
    if bytes.starts(with: [0, 0, 0xFE, 0xFF]) { return .utf32BigEndian }
    if bytes.starts(with: [0xFF, 0xFE]) { return .utf16LittleEndian }
    if bytes.starts(with: [0xFE, 0xFF]) { return .utf16BigEndian }
    return nil
  }

  private static func zeros(_ bytes: [UInt8]) -> TextEncoding? {
    let part = bytes.prefix(4096)
    guard part.count >= 4, part.count % 2 == 0 || part.count == 4096 else { return nil }
    if let wide = wide(part) { return wide }
    var zeros = (even: 0, odd: 0)
    for (index, byte) in part.enumerated() where byte == 0 {
      if index % 2 == 0 { zeros.even += 1 } else { zeros.odd += 1 }
    }
    // Separators and line ends alone make some, and so do some characters; text of which less than a third is Latin has a byte order mark.
    if zeros.odd * 6 > part.count, zeros.even * 4 < zeros.odd { return .utf16LittleEndian }
    if zeros.even * 6 > part.count, zeros.odd * 4 < zeros.even { return .utf16BigEndian }
    return nil
  }

  /// UTF-32, if every four bytes are a character, and most are one of the first 65,536.
  private static func wide(_ part: ArraySlice<UInt8>) -> TextEncoding? {
    guard part.count % 4 == 0 else { return nil }
    for encoding in [TextEncoding.utf32LittleEndian, .utf32BigEndian] {
      var basic = 0
      let areCharacters = stride(from: part.startIndex, to: part.endIndex, by: 4).allSatisfy { index in
        let unit = part[index..<index + 4].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        let value = encoding == .utf32LittleEndian ? unit.byteSwapped : unit
        if value <= 0xFFFF { basic += 1 }
        return value > 0 && Unicode.Scalar(value) != nil
      }
      if areCharacters, basic * 8 > part.count { return encoding }
    }
    return nil
  }

  private static func bytewise(_ bytes: [UInt8]) -> TextEncoding {
    var rest = bytes[...]
    let problem = rest.withUnsafeBytes(firstInvalidUTF8)
    // The last character of a part may be cut.
    guard let problem, problem + 4 <= bytes.count || bytes.count < InputSample.size else { return .utf8 }
    // Whoever wrote proper UTF-8 up to here has damaged it somewhere.
    if rest.prefix(problem).contains(where: { $0 >= 0x80 }) { return .utf8 }
    rest = rest.dropFirst(problem)
    let isText = rest.allSatisfy {
      switch $0 {
      case 0, 0x81, 0x8D, 0x8F, 0x90, 0x9D, 0xFF: false
      default: true
      }
    }
    return isText ? .windows1252 : .utf8
  }
}
