package import ObjectModel

/// The values of one attribute in the rows of a batch insert while they are packed.
///
/// What a row does not set has the default, which is filled in when a later row is set or the chunk ends: so a row costs
/// what is set in it, and nothing else.
struct PackedColumn {
  let property: Property
  /// Nil for a relationship.
  let type: AttributeType?
  private let tracksGiven: Bool
  private let fallback: Fallback

  private var values: ColumnValues
  private var given: RowBits
  private var isTouched = false

  /// The value of rows that set none.
  private enum Fallback {
    case null
    case integer(Int64)
    case real(Double)
    case bytes([UInt8])
  }

  /// - Parameters:
  ///   - defaults: a row of defaults.
  ///   - capacity: rows per chunk.
  ///   - tracksGiven: whether to note which rows set a value; else all of them count as doing so.
  init(_ property: Property, defaults: Row, capacity: Int, tracksGiven: Bool) {
    self.property = property
    type = property.attribute?.type
    self.tracksGiven = tracksGiven
    let slot = property.slot
    fallback =
      switch property.storage {
      case .integer where !defaults.isNull(slot): .integer(defaults.integer(slot))
      case .real where !defaults.isNull(slot): .real(defaults.real(slot))
      case .text where !defaults.isNull(slot), .bytes where !defaults.isNull(slot):
        .bytes(Array(defaults.unsafeBytes(slot)))
      default: .null
      }
    values = ColumnValues(property.storage, capacity: Self.isPacked(property) ? capacity : 0)
    given = RowBits(capacity: capacity)
  }

  /// True if the values lie in a column, as opposed to binary data and destinations.
  var isPacked: Bool { Self.isPacked(property) }

  private static func isPacked(_ property: Property) -> Bool {
    switch property.storage {
    case .integer, .real, .text, .bytes: true
    case .blob, .reference, .toMany: false
    }
  }

  /// Begins a chunk.
  mutating func removeAll() {
    isTouched = false
    given.removeAll()
    if isPacked { values.removeAll() }
  }

  // MARK: Setting

  @inline(__always)
  mutating func set(integer: Int64, row: Int) {
    begin(row)
    values.append(integer)
  }

  @inline(__always)
  mutating func set(real: Double, row: Int) {
    begin(row)
    values.append(real)
  }

  @inline(__always)
  mutating func set(bytes: UnsafeRawBufferPointer, row: Int) {
    begin(row)
    values.append(bytes)
  }

  mutating func setNull(row: Int) {
    begin(row)
    values.appendNull()
  }

  /// Takes back what was set in a row that is not to be inserted.
  mutating func discard(row: Int) {
    if values.count == row + 1 { removeLast() }
  }

  @inline(__always)
  private mutating func begin(_ row: Int) {
    if values.count != row { catchUp(with: row) }
    isTouched = true
    if tracksGiven { given.insert(row) }
  }

  private mutating func catchUp(with row: Int) {
    if values.count > row { removeLast() } else { fill(to: row) }
  }

  private mutating func removeLast() {
    values.removeLast()
    given.remove(values.count)
  }

  private mutating func fill(to row: Int) {
    for _ in values.count..<row {
      switch fallback {
      case .null: values.appendNull()
      case .integer(let number): values.append(number)
      case .real(let number): values.append(number)
      case .bytes(let bytes): bytes.withUnsafeBytes { values.append($0) }
      }
    }
  }

  // MARK: The column

  /// The values of the chunk; nil if all of them are null.
  mutating func built(count rows: Int) -> RowBatch.Column? {
    if !isPacked { return nil }
    if case .null = fallback, !isTouched { return nil }
    fill(to: rows)
    // Without bits all rows would count as having set a value.
    let bits = tracksGiven && given.words.isEmpty ? [UInt64](repeating: 0, count: (rows + 63) / 64) : given.words
    return RowBatch.Column(slot: property.slot, values: values.values, nullBits: values.nulls.words, givenBits: bits)
  }
}

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
