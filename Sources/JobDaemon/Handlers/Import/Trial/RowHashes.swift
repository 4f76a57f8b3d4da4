import ObjectGraph
import ObjectModel

/// The hashes of values that were seen: eight to sixteen bytes for each, however long the values are.
///
/// Two of ten million values have the same hash once in some hundred thousand files.
struct RowHashes {
  /// Zero where nothing is.
  private var slots = [UInt64](repeating: 0, count: 1024)
  private var count = 0

  func contains(_ hash: UInt64) -> Bool { slots[place(of: hash)] == hash }

  mutating func insert(_ hash: UInt64) {
    if (count + 1) * 8 > slots.count * 7 { grow() }
    let place = place(of: hash)
    if slots[place] == hash { return }
    slots[place] = hash
    count += 1
  }

  private func place(of hash: UInt64) -> Int {
    let mask = slots.count - 1
    var place = Int(truncatingIfNeeded: hash) & mask
    while slots[place] != 0 && slots[place] != hash { place = (place + 1) & mask }
    return place
  }

  private mutating func grow() {
    let old = slots
    slots = [UInt64](repeating: 0, count: old.count * 2)
    for hash in old where hash != 0 { slots[place(of: hash)] = hash }
  }
}

extension Sequence<RowBatch.Column> {
  /// The hash of a row's values, never zero; nil if one of them is missing.
  func hash(_ row: Int) -> UInt64? {
    var hasher = Hasher()
    for column in self {
      if column.isNull(row) { return nil }
      switch column.values {
      case .integers(let values): hasher.combine(values[row])
      case .reals(let values): hasher.combine(values[row])
      case .bytes(let offsets, let arena):
        let bytes = arena.bytes(Int(offsets[row])..<Int(offsets[row + 1]))
        hasher.combine(bytes.count)
        hasher.combine(bytes: bytes)
      }
    }
    return UInt64(bitPattern: Int64(hasher.finalize())) | 1
  }
}
