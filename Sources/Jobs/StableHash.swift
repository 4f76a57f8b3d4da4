/// A 64-bit FNV-1a hash, the same in every process; http://www.isthe.com/chongo/tech/comp/fnv/
package struct StableHash {
  /// The hash of what was combined so far.
  package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  package init() {}

  package mutating func combine(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
  }

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
    let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
    let folded = value ^ (value >> 32)
    return String((0..<6).map { alphabet[Int((folded >> (5 * UInt64($0))) & 31)] })
  }

  /// A number as 16 hexadecimal digits.
  package static func digits(_ value: UInt64) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: Self.digitCount - text.count) + text
  }
}
