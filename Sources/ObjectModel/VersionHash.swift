/// A 128-bit hash (FNV-1a, with two offset bases) over what shapes an entity's stored data.
///
/// It shows if a store was written with the same entity; it protects against accidents, not against attackers.
/// Source: Fowler, Noll, Vo, http://www.isthe.com/chongo/tech/comp/fnv/
public struct VersionHash: Sendable, Hashable, CustomStringConvertible {
  private var high: UInt64 = 0xcbf2_9ce4_8422_2325
  private var low: UInt64 = 0x9ae1_6a3b_2f90_404f

  /// The hash of nothing yet.
  public init() {}

  /// The hash of some bytes.
  package init(of bytes: some Sequence<UInt8>) {
    for byte in bytes { combine(byte) }
  }

  /// Mixes in a text and its end.
  public mutating func combine(_ text: String) {
    for byte in text.utf8 { combine(byte) }
    combine(0xff)
  }

  private mutating func combine(_ byte: UInt8) {
    high = (high ^ UInt64(byte)) &* 0x100_0000_01b3
    low = (low ^ UInt64(byte &+ 0x5a)) &* 0x100_0000_01b3
  }

  /// The hash as 32 hexadecimal digits.
  public var description: String { hex(high) + hex(low) }

  private func hex(_ word: UInt64) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
