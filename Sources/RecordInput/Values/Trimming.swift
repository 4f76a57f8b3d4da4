/// A text in UTF-8 without the blanks at both ends: those of ASCII and of Unicode, such as no-break spaces, and what has
/// no width.
package func trimmingBlanks(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
  var start = 0
  var end = bytes.count
  while start < end {
    let size = blankSize(bytes, start, end)
    if size == 0 { break }
    start += size
  }
  while start < end {
    // No blank is longer than three bytes.
    guard let size = (1...3).first(where: { end - $0 >= start && blankSize(bytes, end - $0, end) == $0 }) else { break }
    end -= size
  }
  return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
}

/// The size of the blank at an index; 0 if there is none.
private func blankSize(_ bytes: UnsafeRawBufferPointer, _ index: Int, _ end: Int) -> Int {
  let byte = bytes[index]
  if byte < 0x80 { return byte == 0x20 || (0x09...0x0D).contains(byte) ? 1 : 0 }
  let second = index + 1 < end ? bytes[index + 1] : 0
  // U+0085 and U+00A0.
  if byte == 0xC2 { return second == 0x85 || second == 0xA0 ? 2 : 0 }
  let third = index + 2 < end ? bytes[index + 2] : 0
  let isBlank =
    switch (byte, second) {
    case (0xE1, 0x9A): third == 0x80
    // U+2000 to U+200B, U+2028, U+2029 and U+202F.
    case (0xE2, 0x80): (0x80...0x8B).contains(third) || third == 0xA8 || third == 0xA9 || third == 0xAF
    case (0xE2, 0x81): third == 0x9F
    case (0xE3, 0x80): third == 0x80
    case (0xEF, 0xBB): third == 0xBF
    default: false
    }
  return isBlank ? 3 : 0
}
