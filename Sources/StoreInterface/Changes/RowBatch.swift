package import ObjectModel
import Synchronization

/// Many new rows of one entity in columns, for imports: a few large buffers instead of an object per row.
///
/// The batch counts as inserted objects everywhere; a row becomes a ``Row`` when somebody asks for it.
package final class RowBatch: Sendable {
  /// A column's values, one per row.
  package struct Column: Sendable {
    package enum Values: Sendable {
      case integers([Int64])
      case reals([Double])
      /// Texts or bytes: where each value begins in the arena; a value ends where the next begins.
      case bytes(offsets: [UInt32], arena: ByteArena)
    }
    package let slot: Int
    package let values: Values
    /// One bit per row, set for null; empty if no value is null.
    package let nullBits: [UInt64]
    /// One bit per row, set where the value was given and is not the default; empty if all of them were given.
    package let givenBits: [UInt64]

    package init(slot: Int, values: Values, nullBits: [UInt64] = [], givenBits: [UInt64] = []) {
      self.slot = slot
      self.values = values
      self.nullBits = nullBits
      self.givenBits = givenBits
    }

    /// The column as one of defaults: stored objects keep what they have.
    package func asDefaults(count: Int) -> Column {
      Column(
        slot: slot, values: values, nullBits: nullBits, givenBits: [UInt64](repeating: 0, count: (count + 63) / 64))
    }

    /// True if no row was given a value.
    package var hasOnlyDefaults: Bool { !givenBits.isEmpty && givenBits.allSatisfy { $0 == 0 } }

    @inlinable
    @inline(__always)
    package func isGiven(_ row: Int) -> Bool { givenBits.isEmpty || givenBits[row >> 6] & (1 << UInt64(row & 63)) != 0 }

    @inlinable
    @inline(__always)
    package func isNull(_ row: Int) -> Bool {
      !nullBits.isEmpty && nullBits[row >> 6] & (1 << UInt64(row & 63)) != 0
    }
  }

  package let entity: Entity
  package let layout: RowLayout
  package let coordinatorOrdinal: UInt32
  /// The key of the first row; the others follow.
  package let firstKey: Int64
  package let count: Int
  /// The columns that are not null throughout, by slot order.
  package let columns: [Column]
  package let byteCount: Int
  /// Rows that somebody asked for, which must learn their version when the batch is stored.
  private let asked = Mutex<(version: Int64, rows: [Int: Row])>((0, [:]))

  package init(
    entity: Entity, layout: RowLayout, coordinatorOrdinal: UInt32, firstKey: Int64, count: Int, columns: [Column]
  ) {
    self.entity = entity
    self.layout = layout
    self.coordinatorOrdinal = coordinatorOrdinal
    self.firstKey = firstKey
    self.count = count
    self.columns = columns
    byteCount = columns.reduce(0) { $0 + $1.byteCount }
  }

  /// The keys of the rows.
  package var keys: Range<Int64> { firstKey..<firstKey + Int64(count) }

  package func id(at index: Int) -> ManagedObjectID {
    ManagedObjectID(key: firstKey + Int64(index), entity: entity, coordinatorOrdinal: coordinatorOrdinal)
  }

  /// The row number of an object, or nil if it is not of this batch.
  package func index(of id: ManagedObjectID) -> Int? {
    let index = id.key - firstKey
    return index >= 0 && index < count && id == self.id(at: Int(index)) ? Int(index) : nil
  }

  /// The values of one row as a row of its own; always the same one, which the batch keeps.
  package func row(at index: Int) -> Row {
    asked.withLock { asked in
      if let row = asked.rows[index] { return row }
      let row = copy(of: index)
      row.stamp(version: asked.version)
      asked.rows[index] = row
      return row
    }
  }

  /// The values of one row for a look at them; a copy that nobody keeps and that never learns its version.
  package func copy(of index: Int) -> Row {
    var row = Row(layout)
    for column in columns where !column.isNull(index) {
      switch column.values {
      case .integers(let values): row.setInteger(values[index], column.slot)
      case .reals(let values): row.setReal(values[index], column.slot)
      case .bytes(let offsets, let arena):
        row.setBytes(arena.bytes(Int(offsets[index])..<Int(offsets[index + 1])), column.slot)
      }
    }
    return row
  }

  /// The first row that has no value in a slot, or nil.
  package func firstNull(_ slot: Int) -> Int? {
    guard let column = columns.first(where: { $0.slot == slot }) else { return 0 }
    return column.nullBits.isEmpty ? nil : (0..<count).first(where: column.isNull)
  }

  /// The slots of what a row was given, as opposed to what it has by default.
  package func givenSlots(of index: Int) -> [Int] { columns.filter { $0.isGiven(index) }.map(\.slot) }

  /// Notes that the rows are in the store now, under that version.
  package func stamp(version: Int64) {
    asked.withLock { asked in
      asked.version = version
      for row in asked.rows.values { row.stamp(version: version) }
    }
  }
}

extension RowBatch.Column {
  package var byteCount: Int {
    switch values {
    case .integers(let values): values.count * 8
    case .reals(let values): values.count * 8
    case .bytes(let offsets, let arena): offsets.count * 4 + arena.count
    }
  }
}

/// A block of bytes that grows while a batch is built and is read only afterwards.
package final class ByteArena: @unchecked Sendable {
  // @unchecked: only its builder writes, before the batch that holds it is made.

  // Accesses are over before anybody else is called: there is nothing to look for at run time, for each text.
  @exclusivity(unchecked) private var memory: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) package private(set) var count = 0

  package init(capacity: Int) {
    self.capacity = max(capacity, 64)
    memory = .allocate(byteCount: self.capacity, alignment: 16)
  }

  deinit { memory.deallocate() }

  /// Appends bytes; the arena stays below 4 GiB.
  @inline(__always)
  package func append(_ bytes: UnsafeRawBufferPointer) {
    let end = count + bytes.count
    if end > capacity { grow(to: end) }
    if let base = bytes.baseAddress { (memory + count).copyMemory(from: base, byteCount: bytes.count) }
    count = end
  }

  /// Takes back what was appended last.
  package func truncate(to count: Int) {
    precondition(count <= self.count, "an arena is truncated to less than it holds")
    self.count = count
  }

  /// The bytes of a range; valid while the arena is held.
  @inline(__always)
  package func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    precondition(range.upperBound <= count, "the range lies outside the arena")
    return UnsafeRawBufferPointer(start: memory + range.lowerBound, count: range.count)
  }

  private func grow(to needed: Int) {
    precondition(needed <= Int(UInt32.max), "an arena holds less than 4 GiB")
    capacity = max(needed, capacity * 2)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    larger.copyMemory(from: memory, byteCount: count)
    memory.deallocate()
    memory = larger
  }
}
