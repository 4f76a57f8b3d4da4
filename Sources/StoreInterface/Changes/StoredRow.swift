package import ObjectModel

/// The values of an object as a store has them, under their version there: read by a store's reader, or just committed.
///
/// Nothing else can make one, and the row cache takes nothing else. So what a context holds, however its version looks,
/// never passes for what is stored.
package struct StoredRow: Sendable {
  /// The values.
  package let row: Row

  fileprivate init(_ row: Row) { self.row = row }

  package var version: Int64 { row.version }

  /// The row without values that belong to the object they were set in.
  package func without(transients slots: [Int]) -> StoredRow {
    if slots.allSatisfy(row.isNull) { return self }
    return changed { row in for slot in slots { row.setNull(slot) } }
  }

  /// The row with a value that the store has computed since, which raises no version.
  package func with(derived value: Value, _ slot: Int) -> StoredRow { changed { $0.set(value, slot) } }

  private func changed(_ body: (inout Row) -> Void) -> StoredRow {
    var changed = row
    body(&changed)
    changed.stamp(version: version)
    return StoredRow(changed)
  }
}

/// The rows that a store has just committed: all holders of the rows know their versions now.
package struct CommittedRows: Sendable {
  /// The changes that were written.
  package let sets: [ChangeSet]

  /// Tells the rows that they are stored; for stores, once their transaction is.
  package init(_ sets: [ChangeSet]) {
    self.sets = sets
    for set in sets {
      let changes = set.changes
      for index in changes.indices {
        switch changes[index].kind {
        case .insert, .update:
          // Else its base would get the new version, too, and tell it to all who read that before.
          assert(!changes[index].isEmptyUpdate, "an update shares its row with its base")
          changes[index].row?.stamp(version: changes[index].version)
        case .delete, .forget: break
        }
      }
      for batch in set.batches { batch.stamp(version: 1) }
    }
  }

  /// Calls the body with each change but those of batches, and the row that is stored now; nil after a delete.
  ///
  /// - Parameter skipsInserts: whether to pass over sets of nothing but inserts.
  package func forEachChange(
    skippingInserts skipsInserts: Bool = false, _ body: (borrowing RowChange, StoredRow?) -> Void
  ) {
    for set in sets where !(skipsInserts && set.isAllInserts) {
      let changes = set.changes
      for index in changes.indices { body(changes[index], changes[index].row.map(StoredRow.init)) }
    }
  }
}

/// Makes a row from values that come one after the other: nobody else can hold it yet, so none of them looks for that.
package struct RowFiller: ~Copyable {
  private let row: Row
  // Where things lie, looked up once.
  @usableFromInline let pointers: RowPointers
  @usableFromInline let slots: UnsafeMutablePointer<UInt64>
  @usableFromInline let tail: UnsafeMutableRawPointer
  @usableFromInline let slotCount: Int
  @usableFromInline var tailCount = 0

  /// Begins with a row of nulls.
  ///
  /// - Parameter tailCapacity: the bytes of all texts, UUIDs and references that will be set.
  package init(_ layout: RowLayout, tailCapacity: Int) {
    row = Row(layout, tailCapacity: tailCapacity)
    pointers = row.pointers
    slots = pointers.slots
    tail = pointers.tail
    slotCount = layout.slotCount
  }

  @inlinable
  package func setInteger(_ value: Int64, _ slot: Int) { setWord(UInt64(bitPattern: value), slot) }

  @inlinable
  package func setReal(_ value: Double, _ slot: Int) { setWord(value.bitPattern, slot) }

  package mutating func setReference(_ value: ManagedObjectID, _ slot: Int) {
    withUnsafeBytes(of: value) { setBytes($0, slot) }
  }

  /// Sets a text, a UUID or a reference; once per slot.
  @inlinable
  package mutating func setBytes(_ bytes: UnsafeRawBufferPointer, _ slot: Int) {
    precondition(
      bytes.count <= Int(pointers.header.pointee.tailCapacity) - tailCount, "a row has no room for this text")
    if let base = bytes.baseAddress { (tail + tailCount).copyMemory(from: base, byteCount: bytes.count) }
    setWord(UInt64(tailCount) << 32 | UInt64(bytes.count), slot)
    pointers.setHasTail(slot)
    tailCount += bytes.count
  }

  package func setBlob(_ blob: Blob, _ slot: Int) {
    setWord(UInt64(pointers.header.pointee.blobs.count), slot)
    pointers.header.pointee.blobs.append(blob)
  }

  /// The row, under the version that it has in the store.
  package consuming func finish(version: Int64) -> StoredRow {
    pointers.header.pointee.tailCount = Int32(tailCount)
    row.stamp(version: version)
    return StoredRow(row)
  }

  @inlinable
  package func setWord(_ word: UInt64, _ slot: Int) {
    precondition(slot >= 0 && slot < slotCount, "a row has no such slot")
    slots[slot] = word
    pointers.setNull(slot, false)
  }
}
