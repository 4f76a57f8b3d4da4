/// The rows by which a context detects conflicts of objects that its next save does not write, or must not overwrite.
final class ConflictChecks {
  /// Rows of unchanged objects that the next save must find unchanged in the store too.
  private var rows: [ManagedObjectID: Row] = [:]
  /// The stored rows that conflict with unsaved changes, as a merge found them; nil for a stored delete.
  private(set) var storedRows: [ManagedObjectID: Row?] = [:]

  /// True if the next save has no unchanged object to check.
  var isEmpty: Bool { rows.isEmpty }

  /// Makes the next save check that an object's row is still this one.
  func add(_ id: ManagedObjectID, _ row: Row) { rows[id] = row }

  /// Returns the rows that a save must find unchanged although it does not write them.
  func rows(besides sets: [ChangeSet]) -> [RowChange] {
    rows.compactMap { id, row in
      let isWritten = sets.contains { $0.change(of: id) != nil }
      return isWritten ? nil : RowChange(.update, id, row: row, base: row)
    }
  }

  /// Notes the stored row, or the stored delete, that conflicts with an object's unsaved changes.
  func noteStored(_ row: Row?, of id: ManagedObjectID) { storedRows[id] = .some(row) }

  /// Removes and returns the stored row that conflicts with an object's changes.
  func removeStored(of id: ManagedObjectID) -> Row?? { storedRows.removeValue(forKey: id) }

  /// Forgets an object.
  func remove(_ id: ManagedObjectID) {
    rows[id] = nil
    storedRows[id] = nil
  }

  /// Forgets the rows of unchanged objects.
  func removeRows() { rows = [:] }

  func removeAll() {
    rows = [:]
    storedRows = [:]
  }
}
