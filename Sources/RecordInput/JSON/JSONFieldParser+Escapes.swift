import DelimitedText

extension JSONFieldParser {
  /// Writes out what a string with escapes means; the escapes are known to be right.
  mutating func unescape(_ scan: JSONScan, _ start: Int, _ end: Int) -> FieldRange {
    // No escape is longer as UTF-8 than as it is written.
    let needed = unescapedCount + end - start
    if needed > unescapedCapacity {
      unescapedCapacity = 2 * needed
      let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: unescapedCapacity)
      larger.update(from: unescaped, count: unescapedCount)
      unescaped.deallocate()
      unescaped = larger
    }
    let first = unescapedCount
    var count = first
    var index = start
    while index < end {
      let byte = scan.bytes[index]
      guard byte == 0x5C else {
        unescaped[count] = byte
        count += 1
        index += 1
        continue
      }
      var scalar: UInt32
      switch scan.bytes[index + 1] {
      case 0x62: scalar = 0x08
      case 0x66: scalar = 0x0C
      case 0x6E: scalar = 0x0A
      case 0x72: scalar = 0x0D
      case 0x74: scalar = 0x09
      case 0x75:
        scalar = scan.hexadecimal(index + 2) ?? 0
        index += 4
        if scalar & 0xF800 == 0xD800 {
          scalar = 0x10000 + (scalar & 0x3FF) << 10 + ((scan.hexadecimal(index + 4) ?? 0) & 0x3FF)
          index += 6
        }
      default: scalar = UInt32(scan.bytes[index + 1])
      }
      index += 2
      guard let scalar = Unicode.Scalar(scalar), let encoded = UTF8.encode(scalar) else { continue }
      for byte in encoded {
        unescaped[count] = byte
        count += 1
      }
    }
    unescapedCount = count
    return FieldRange(.quotedText, at: first, length: count - first, isUnescaped: true)
  }
}
