import Foundation
import ObjectModel

/// The changes of a save as an in-memory store keeps them: without files, and without NaN, which no store keeps.
struct InMemoryRows {
  var deletes: [RowChange] = []
  /// Updates and inserts with the rows to keep.
  var updates: [RowChange] = []
  var inserts: [RowChange] = []
  var links: [LinkChange] = []

  let checks: [RowChange]
  /// The changes with the rows that contexts hold.
  let sets: [ChangeSet]

  init(_ request: StoreSaveRequest, model: ManagedObjectModel) throws(StoreError) {
    checks = request.checks
    sets = request.changes
    for set in request.changes {
      links += set.links
      for var change in set.changes {
        change.row = try change.row.map { row throws(StoreError) in try Self.kept(row, model) }
        switch change.kind {
        case .delete: deletes.append(change)
        case .update: updates.append(change)
        case .insert: inserts.append(change)
        case .forget: break
        }
      }
      for batch in set.batches {
        for index in 0..<batch.count {
          let row = try Self.kept(batch.row(at: index), model)
          inserts.append(RowChange(.insert, batch.id(at: index), row: row, base: nil))
        }
      }
    }
  }

  /// The rows to keep, once nothing can refuse them any more; tells those that contexts hold, too.
  func committed() -> CommittedRows {
    _ = CommittedRows(sets)
    return CommittedRows([ChangeSet(deletes + updates + inserts)])
  }

  /// The row itself, or a copy if it has files or NaN.
  private static func kept(_ row: Row, _ model: ManagedObjectModel) throws(StoreError) -> Row {
    var kept = row
    for property in model.entities[Int(row.entityIndex)].properties where !row.isNull(property.slot) {
      switch property.storage {
      case .blob:
        let blob = row.blob(property.slot)
        switch blob.content {
        case .data, .object: continue
        case .staged, .stored, .remote: break
        }
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
