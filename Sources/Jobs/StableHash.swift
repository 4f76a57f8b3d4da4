/// A 64-bit FNV-1a hash, the same in every process; http://www.isthe.com/chongo/tech/comp/fnv/
package struct StableHash {
  /// The hash of what was combined so far.
  package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  package init() {}

  package mutating func combine(_ bytes: some Sequence<UInt8>) {
    // Not byte by byte of a sequence that is known only when the program runs, which takes ten times as long.
    if bytes.withContiguousStorageIfAvailable({ combine($0) }) == nil {
      for byte in bytes { combine(byte) }
    }
  }

  private mutating func combine(_ bytes: UnsafeBufferPointer<UInt8>) { for byte in bytes { combine(byte) } }

  private mutating func combine(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }

  /// Combines the bytes of a number, the lowest first.
  package mutating func combine(_ number: Int64) {
    withUnsafeBytes(of: number.littleEndian) { combine($0) }
  }

  package static let digitCount = 16

  /// The hash as 16 hexadecimal digits.
  package var digits: String { Self.digits(value) }

  /// The hash as six letters and digits, none of which looks like another: short enough to be typed, but not unique.
  ///
  /// The alphabet is that of Crockford's Base32; https://www.crockford.com/base32.html
  package static func letters(_ value: UInt64) -> String {
    let folded = value ^ (value >> 32)
    return text(6, of: "0123456789abcdefghjkmnpqrstvwxyz") { Int((folded >> (5 * UInt64($0))) & 31) }
  }

  /// A number as 16 hexadecimal digits.
  package static func digits(_ value: UInt64) -> String {
    text(digitCount, of: "0123456789abcdef") { Int((value >> (4 * UInt64(digitCount - 1 - $0))) & 15) }
  }

  /// Some signs of an alphabet; `place` tells where each of them is.
  private static func text(_ count: Int, of alphabet: StaticString, _ place: (Int) -> Int) -> String {
    String(unsafeUninitializedCapacity: count) { bytes in
      for index in 0..<count { bytes.initializeElement(at: index, to: alphabet.utf8Start[place(index)]) }
      return count
    }
  }
}
