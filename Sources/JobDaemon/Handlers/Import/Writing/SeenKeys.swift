/// Which objects an import has met, a bit for each.
struct SeenKeys {
  private var blocks: [Int64: [UInt64]] = [:]
  private static let blockBits: Int64 = 1 << 16

  var count: Int { blocks.values.reduce(0) { $0 + $1.reduce(0) { $0 + $1.nonzeroBitCount } } }

  mutating func insert(_ key: Int64) {
    let (block, bit) = Self.place(key)
    blocks[block, default: [UInt64](repeating: 0, count: Int(Self.blockBits) / 64)][bit >> 6] |= 1 << UInt64(bit & 63)
  }

  func contains(_ key: Int64) -> Bool {
    let (block, bit) = Self.place(key)
    guard let words = blocks[block] else { return false }
    return words[bit >> 6] & (1 << UInt64(bit & 63)) != 0
  }

  private static func place(_ key: Int64) -> (block: Int64, bit: Int) {
    (key >> 16, Int(key & (blockBits - 1)))
  }
}
