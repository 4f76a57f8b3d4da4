import Foundation
import ObjectModel

/// The changes of a save as an in-memory store keeps them: without files, and without NaN, which no store keeps.
struct InMemoryRows {
  var deletes: [RowChange] = []
  /// Updates with the row to keep.
  var updates: [(change: RowChange, row: Row)] = []
  var inserts: [(id: ManagedObjectID, row: Row)] = []
  var links: [LinkChange] = []

  let checks: [RowChange]

  init(_ request: StoreSaveRequest, model: ManagedObjectModel) throws(StoreError) {
    checks = request.checks
    for set in request.changes {
      links += set.links
      for change in set.changes {
        switch (change.kind, change.row) {
        case (.delete, _): deletes.append(change)
        case (.update, let row?): updates.append((change, try Self.kept(row, model)))
        case (.insert, let row?): inserts.append((change.id, try Self.kept(row, model)))
        case (.forget, _), (.update, nil), (.insert, nil): break
        }
      }
      for batch in set.batches {
        for index in 0..<batch.count {
          inserts.append((batch.id(at: index), try Self.kept(batch.row(at: index), model)))
        }
      }
    }
  }

  /// Tells the rows that they are in the store now.
  func stamp(_ sets: [ChangeSet]) {
    for (_, row) in inserts { row.stamp(version: 1) }
    for (change, row) in updates {
      row.stamp(version: (change.base?.version ?? 0) + 1)
      change.row?.stamp(version: row.version)
    }
    for set in sets {
      for change in set.changes where change.kind == .insert { change.row?.stamp(version: 1) }
      for batch in set.batches { batch.stamp(version: 1) }
    }
  }

  /// The row itself, or a copy if it has files or NaN.
  private static func kept(_ row: Row, _ model: ManagedObjectModel) throws(StoreError) -> Row {
    var kept = row
    for property in model.entities[Int(row.entityIndex)].properties where !row.isNull(property.slot) {
      switch property.storage {
      case .blob:
        let blob = row.blob(property.slot)
        if case .data = blob.content { continue }
        do { kept.setBlob(Blob(try blob.load()), property.slot) } catch {
          throw StoreError(.inputOutput, "the file of a binary value can't be read", detail: "\(error)")
        }
      case .real: if row.real(property.slot).isNaN { kept.setNull(property.slot) }
      case .integer, .text, .bytes, .reference, .toMany: break
      }
    }
    return kept
  }
}
