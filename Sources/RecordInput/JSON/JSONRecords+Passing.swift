import DelimitedText
import JSONText

/// What stands around the array of records: it is passed over, and must be JSON all the same.
extension JSONRecords {
  /// Goes behind a value; of a large one, only a key or a text is in memory at a time.
  func passValue() throws(InputError) {
    /// Whether what is open is an object, from the outside in.
    var open: [Bool] = []
    repeat {
      let byte = try skipSpace()
      if byte == 0x7B || byte == 0x5B {
        guard open.count < JSONScan.depthLimit else {
          throw InputError("line \(line): more than \(JSONScan.depthLimit) arrays and objects inside each other")
        }
        let isObject = byte == 0x7B
        nextStart += 1
        open.append(isObject)
        if try skipSpace() != (isObject ? 0x7D : 0x5D) {
          if isObject { _ = try readKey() }
          continue
        }
        nextStart += 1
        open.removeLast()
      } else {
        try passScalar(byte)
      }
      try closeValues(&open)
    } while !open.isEmpty
  }

  /// Goes behind the comma after a value, and out of everything that ends before it.
  private func closeValues(_ open: inout [Bool]) throws(InputError) {
    while let isObject = open.last {
      let byte = try skipSpace()
      if byte != 0x2C, byte != (isObject ? 0x7D : 0x5D) {
        throw unexpected(byte, isObject ? "\",\" or \"}\" after a value" : "\",\" or \"]\" after an element")
      }
      nextStart += 1
      if byte == 0x2C {
        if isObject { _ = try readKey() }
        return
      }
      open.removeLast()
    }
  }

  /// A key and the colon behind it.
  func readKey() throws(InputError) -> String {
    let byte = try skipSpace()
    guard byte == 0x22 else { throw unexpected(byte, "a key in quotes") }
    let text = try readToken(byte)
    guard let key = try? JSONValue(parsing: text).string else {
      throw unexpected(byte, "a key without control characters")
    }
    let colon = try skipSpace()
    guard colon == 0x3A else { throw unexpected(colon, "\":\" after a key") }
    nextStart += 1
    return key
  }

  private func passScalar(_ byte: UInt8?) throws(InputError) {
    let text = try readToken(byte)
    var scan = JSONScan(block.bytes + recordStart, count: text.count)
    guard scan.value(0) == text.count, isValidUTF8(text) else { throw unexpected(byte, "a value") }
  }

  /// The bytes of a text in quotes, a number or a word; valid until more is read.
  private func readToken(_ byte: UInt8?) throws(InputError) -> UnsafeRawBufferPointer {
    recordStart = nextStart
    var index = nextStart + (byte == 0x22 ? 1 : 0)
    while true {
      if index >= block.end {
        if block.hasEnded {
          if byte == 0x22 { throw unexpected(nil, "a quote at the end of a text") }
          break
        }
        let keep = recordStart
        if index - keep > options.maxRecordSize {
          throw InputError("line \(line): a text beside the records is more than \(options.maxRecordSize) bytes")
        }
        try block.fill(keeping: keep)
        recordStart = 0
        index -= keep
        continue
      }
      let next = block.bytes[index]
      if byte == 0x22 {
        if next == 0x22 {
          index += 1
          break
        }
        index += next == 0x5C ? 2 : 1
      } else {
        if isSpace(next) || next == 0x2C || next == 0x3A || next == 0x5D || next == 0x7D { break }
        index += 1
      }
    }
    nextStart = min(index, block.end)
    return UnsafeRawBufferPointer(start: block.bytes + recordStart, count: nextStart - recordStart)
  }
}
