package import ObjectModel

/// The values of one column of a batch while it is filled, row by row.
package struct ColumnValues {
  private let storage: StorageClass
  /// Rows to expect.
  private let capacity: Int
  private var integers: [Int64] = []
  private var reals: [Double] = []
  private var offsets: [UInt32] = []
  private var arena: ByteArena
  /// One bit per row, set for null; empty if there is none.
  package private(set) var nulls: RowBits
  package private(set) var count = 0

  package init(_ storage: StorageClass, capacity: Int) {
    self.storage = storage
    self.capacity = capacity
    nulls = RowBits(capacity: capacity)
    arena = ByteArena(capacity: 0)
    removeAll()
  }

  /// Begins anew; what was filled before may be kept by a batch.
  package mutating func removeAll() {
    count = 0
    nulls.removeAll()
    switch storage {
    case .integer:
      integers = []
      integers.reserveCapacity(capacity)
    case .real:
      reals = []
      reals.reserveCapacity(capacity)
    default:
      offsets = []
      offsets.reserveCapacity(capacity + 1)
      offsets.append(0)
      // A batch holds on to its arena; the next one will be about as large.
      arena = ByteArena(capacity: arena.count + arena.count / 8)
    }
  }

  @inline(__always)
  package mutating func append(_ value: Int64) {
    integers.append(value)
    count += 1
  }

  @inline(__always)
  package mutating func append(_ value: Double) {
    reals.append(value)
    count += 1
  }

  @inline(__always)
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    arena.append(bytes)
    offsets.append(UInt32(truncatingIfNeeded: arena.count))
    count += 1
  }

  package mutating func appendNull() {
    nulls.insert(count)
    switch storage {
    case .integer: integers.append(0)
    case .real: reals.append(0)
    default: offsets.append(UInt32(truncatingIfNeeded: arena.count))
    }
    count += 1
  }

  /// Appends the first of some values.
  package mutating func append(firstOf values: RowBatch.Column.Values) {
    switch values {
    case .integers(let values): append(values[0])
    case .reals(let values): append(values[0])
    case .bytes(let offsets, let arena): append(arena.bytes(Int(offsets[0])..<Int(offsets[1])))
    }
  }

  package mutating func removeLast() {
    count -= 1
    nulls.remove(count)
    switch storage {
    case .integer: integers.removeLast()
    case .real: reals.removeLast()
    default:
      offsets.removeLast()
      arena.truncate(to: Int(offsets[count]))
    }
  }

  package var values: RowBatch.Column.Values {
    switch storage {
    case .integer: .integers(integers)
    case .real: .reals(reals)
    default: .bytes(offsets: offsets, arena: arena)
    }
  }
}

/// A bit for each row of a batch; without memory until the first is set.
package struct RowBits {
  private let capacity: Int
  package private(set) var words: [UInt64] = []

  package init(capacity: Int) { self.capacity = capacity }

  package mutating func removeAll() { words = [] }

  package mutating func insert(_ row: Int) {
    if words.isEmpty { words = [UInt64](repeating: 0, count: (capacity + 63) / 64) }
    words[row >> 6] |= 1 << UInt64(row & 63)
  }

  package mutating func remove(_ row: Int) {
    if !words.isEmpty { words[row >> 6] &= ~(1 << UInt64(row & 63)) }
  }
}
