import ObjectModel

/// The values of one attribute in the rows of a batch insert while they are packed.
///
/// What a row does not set has the default, which is filled in when a later row is set or the chunk ends: so a row costs
/// what is set in it, and nothing else.
struct PackedColumn {
  let property: Property
  /// Nil for a relationship.
  let type: AttributeType?
  /// Rows per chunk.
  private let capacity: Int
  private let tracksGiven: Bool
  private let fallback: Fallback

  private var integers: [Int64] = []
  private var reals: [Double] = []
  private var offsets: [UInt32] = []
  private var arena: ByteArena
  private var nullBits: [UInt64] = []
  private var givenBits: [UInt64] = []
  private var count = 0
  private var isTouched = false

  /// What rows have that set nothing.
  private enum Fallback {
    case null
    case integer(Int64)
    case real(Double)
    case bytes([UInt8])
  }

  /// - Parameters:
  ///   - defaults: a row of defaults.
  ///   - tracksGiven: whether to note which rows set a value; else all of them count as doing so.
  init(_ property: Property, defaults: Row, capacity: Int, tracksGiven: Bool) {
    self.property = property
    type = property.attribute?.type
    self.capacity = capacity
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
    arena = ByteArena(capacity: 0)
    removeAll()
  }

  /// Whether the values lie in a column, as opposed to binary data and destinations.
  var isPacked: Bool {
    switch property.storage {
    case .integer, .real, .text, .bytes: true
    case .blob, .reference, .toMany: false
    }
  }

  /// Begins a chunk.
  mutating func removeAll() {
    count = 0
    isTouched = false
    nullBits = []
    givenBits = []
    if !isPacked { return }
    switch property.storage {
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
      // The batch of the last chunk holds on to its arena; the next one will be about as large.
      arena = ByteArena(capacity: arena.count + arena.count / 8)
    }
  }

  // MARK: Setting

  @inline(__always)
  mutating func set(integer: Int64, row: Int) {
    begin(row)
    integers.append(integer)
    count += 1
  }

  @inline(__always)
  mutating func set(real: Double, row: Int) {
    begin(row)
    reals.append(real)
    count += 1
  }

  @inline(__always)
  mutating func set(bytes: UnsafeRawBufferPointer, row: Int) {
    begin(row)
    append(bytes)
  }

  mutating func setNull(row: Int) {
    begin(row)
    appendNull()
  }

  /// Takes back what was set in a row that is not to be inserted.
  mutating func discard(row: Int) {
    if count == row + 1 { removeLast() }
  }

  @inline(__always)
  private mutating func begin(_ row: Int) {
    if count != row { catchUp(with: row) }
    isTouched = true
    if tracksGiven { noteGiven(row) }
  }

  private mutating func catchUp(with row: Int) {
    if count > row { removeLast() } else { fill(to: row) }
  }

  private mutating func noteGiven(_ row: Int) {
    if givenBits.isEmpty { givenBits = [UInt64](repeating: 0, count: (capacity + 63) / 64) }
    givenBits[row >> 6] |= 1 << UInt64(row & 63)
  }

  @inline(__always)
  private mutating func append(_ bytes: UnsafeRawBufferPointer) {
    arena.append(bytes)
    offsets.append(UInt32(truncatingIfNeeded: arena.count))
    count += 1
  }

  private mutating func appendNull() {
    if nullBits.isEmpty { nullBits = [UInt64](repeating: 0, count: (capacity + 63) / 64) }
    nullBits[count >> 6] |= 1 << UInt64(count & 63)
    switch property.storage {
    case .integer: integers.append(0)
    case .real: reals.append(0)
    default: offsets.append(UInt32(truncatingIfNeeded: arena.count))
    }
    count += 1
  }

  private mutating func removeLast() {
    count -= 1
    let bit: UInt64 = 1 << UInt64(count & 63)
    if !nullBits.isEmpty { nullBits[count >> 6] &= ~bit }
    if !givenBits.isEmpty { givenBits[count >> 6] &= ~bit }
    switch property.storage {
    case .integer: integers.removeLast()
    case .real: reals.removeLast()
    default:
      offsets.removeLast()
      arena.truncate(to: Int(offsets[count]))
    }
  }

  private mutating func fill(to row: Int) {
    for _ in count..<row {
      switch fallback {
      case .null: appendNull()
      case .integer(let number):
        integers.append(number)
        count += 1
      case .real(let number):
        reals.append(number)
        count += 1
      case .bytes(let bytes): bytes.withUnsafeBytes { append($0) }
      }
    }
  }

  // MARK: The column

  /// The values of the chunk; nil if all of them are null.
  mutating func built(count rows: Int) -> RowBatch.Column? {
    if !isPacked { return nil }
    if case .null = fallback, !isTouched { return nil }
    fill(to: rows)
    let values: RowBatch.Column.Values =
      switch property.storage {
      case .integer: .integers(integers)
      case .real: .reals(reals)
      default: .bytes(offsets: offsets, arena: arena)
      }
    // Without bits all rows would count as having set a value.
    if tracksGiven, givenBits.isEmpty { givenBits = [UInt64](repeating: 0, count: (capacity + 63) / 64) }
    return RowBatch.Column(slot: property.slot, values: values, nullBits: nullBits, givenBits: givenBits)
  }
}
