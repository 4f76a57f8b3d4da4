import ObjectModel
import SQLGeneration
import StoreInterface

/// Lets the history of a store name its objects as the new model does: entities are renamed, and keys change where
/// several tables become one. Names of properties stay those of their time; changes of entities that are no more go.
struct HistoryMigration {
  let connection: Connection
  let plan: MigrationPlan

  func run(keepsLostFamilies: Bool) throws(StoreError) {
    guard try HistorySchema(connection: connection).isPresent else { return }
    var names: [String] = []
    var offsets: [String] = []
    var lost: [String] = []
    for origin in plan.mapping.source.entities {
      let name = SchemaName.literal(origin.name)
      guard let entity = plan.mapping.successor(of: origin) else {
        lost.append(name)
        continue
      }
      if entity.name != origin.name { names.append("WHEN \(name) THEN \(SchemaName.literal(entity.name))") }
      let offset = plan.offset(from: origin, to: entity)
      if offset != 0 { offsets.append("WHEN \(name) THEN \(offset)") }
    }
    if !lost.isEmpty && !keepsLostFamilies {
      try connection.control("DELETE FROM _change WHERE entity IN (\(lost.joined(separator: ", ")))")
    }
    if names.isEmpty && offsets.isEmpty { return }
    let entity = names.isEmpty ? "entity" : "CASE entity \(names.joined(separator: " ")) ELSE entity END"
    let offset = offsets.isEmpty ? "0" : "CASE entity \(offsets.joined(separator: " ")) ELSE 0 END"
    // Every expression sees the old row, so that names can be exchanged.
    try connection.control(
      "UPDATE _change SET entity = \(entity), first = first + \(offset), last = last + \(offset)")
  }
}
