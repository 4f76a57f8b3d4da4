/// A line and a column, both from 1.
struct JSONPlace: CustomStringConvertible {
  var line = 1
  /// In Unicode scalars.
  var column = 1

  var description: String { "line \(line), column \(column)" }

  /// Counts from the start of the text, after a byte order mark; a line ends with LF, CR LF or CR.
  init(of offset: Int, in bytes: UnsafeRawBufferPointer, from start: Int) {
    var index = start
    while index < min(offset, bytes.count) {
      let byte = bytes[index]
      index += 1
      let isInsideLineEnd = byte == Byte.carriageReturn && index < bytes.count && bytes[index] == Byte.lineFeed
      if byte == Byte.lineFeed || byte == Byte.carriageReturn, !isInsideLineEnd {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }
  }
}
