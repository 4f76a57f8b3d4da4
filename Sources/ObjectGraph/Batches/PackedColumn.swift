import ObjectModel

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
