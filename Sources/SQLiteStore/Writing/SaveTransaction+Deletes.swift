import ObjectModel
import SQLGeneration
import StoreInterface

/// The statements for deletes, by the index of the root of a family.
struct DeleteStatements: Sendable {
  /// A column that leads to a family, whose rows' delete rules have to do with it.
  struct ReferenceColumn: Sendable {
    let root: Entity
    let name: String
    /// The slot by which a deleted row leads back, if both ends are columns; such columns have no index.
    let inverseSlot: Int?
    /// The indexes of the entities whose rows have that slot.
    let destinations: Set<Int>
  }

  /// The SQL that removes the links of a deleted object.
  private(set) var links: [Int: [String]] = [:]
  private(set) var references: [Int: [ReferenceColumn]] = [:]

  init(_ schema: Schema) {
    for table in schema.tables {
      let statements = schema.linkTables.compactMap { $0.deleteAllSQL(of: table.root) }
      if !statements.isEmpty { links[table.root.index] = statements }
      var names: Set<String> = []
      for property in table.members.flatMap(\.properties) where property.storage == .reference && property.isPersistent
      {
        guard let inverse = property.inverse, inverse.relationship?.deleteRule != .noAction,
          let destination = property.destination?.root, names.insert(property.columnName).inserted
        else { continue }
        references[destination.index, default: []].append(
          ReferenceColumn(
            root: table.root, name: property.columnName,
            inverseSlot: inverse.storage == .reference ? inverse.slot : nil,
            destinations: Set(property.destination?.withDescendants.map(\.index) ?? [])))
      }
    }
  }
}

extension SaveTransaction {
  /// Removes the links of a deleted object.
  mutating func deleteLinks(of id: ManagedObjectID) throws(StoreError) {
    for sql in deletes.links[Int(id.rootIndex)] ?? [] {
      _ = try write(sql, .delete) { statement in
        statement.bind(id.key, 1)
        return statement.step()
      }
    }
  }

  /// The rows that still lead to deleted ones, now that all is written. Cost: a look into an index for each delete.
  func leadingToDeleted(_ sets: [ChangeSet]) throws(StoreError) -> [StoreConflict] {
    var deleted: [Int: [RowChange]] = [:]
    for set in sets where set.hasDeletes {
      for change in set.changes where change.kind == .delete {
        deleted[Int(change.id.rootIndex), default: []].append(change)
      }
    }
    var found: [StoreConflict] = []
    for (root, changes) in deleted {
      let keys = Set(changes.map(\.id.key))
      for column in deletes.references[root] ?? [] {
        for (owner, _) in try pairs(column, changes).filter({ keys.contains($0.destination) }) {
          let id = ManagedObjectID(key: owner, entity: column.root, coordinatorOrdinal: decoder.coordinatorOrdinal)
          found.append(StoreConflict(leadingToDeleted: id, stored: try decoder.row(for: id, connection)))
        }
      }
    }
    return found
  }

  /// Rows that may lead to deleted ones, with where they lead.
  private func pairs(
    _ column: DeleteStatements.ReferenceColumn, _ changes: [RowChange]
  ) throws(StoreError) -> [(owner: Int64, destination: Int64)] {
    let (key, name) = (SchemaName.quoted(SchemaName.key), SchemaName.quoted(column.name))
    var keys = changes.map(\.id.key)
    if let slot = column.inverseSlot {
      let rows = changes.compactMap(\.base).filter { column.destinations.contains(Int($0.entityIndex)) }
      keys = rows.compactMap { $0.referenceIfPresent(slot)?.key }
    }
    var pairs: [(owner: Int64, destination: Int64)] = []
    for start in stride(from: 0, to: keys.count, by: Self.keysPerStatement) {
      let left = keys.count - start
      // Two texts of statements, so that they are prepared already; the last key fills up.
      let count = left == 1 ? 1 : Self.keysPerStatement
      let places = (1...count).map { "?\($0)" }.joined(separator: ", ")
      try connection.run(
        "SELECT \(key), \(name) FROM \(SchemaName.quoted(column.root.name)) "
          + "WHERE \(column.inverseSlot == nil ? name : key) IN (\(places))",
        { statement in
          for place in 0..<count { statement.bind(keys[start + min(place, left - 1)], Int32(place + 1)) }
        },
        read: { statement throws(StoreError) in
          if !statement.isNull(1) { pairs.append((statement.integer(0), statement.integer(1))) }
          return true
        })
    }
    return pairs
  }

  private static var keysPerStatement: Int { 64 }
}

extension SaveTransaction {
  /// Writes what became of links, when all rows are written.
  mutating func writeLinks(_ sets: [ChangeSet]) throws(StoreError) {
    for set in sets {
      for change in set.links {
        let table = links[change.key.table]
        _ = try write(change.isPresent ? table.insertSQL : table.deleteSQL, change.isPresent ? .insert : .delete) {
          statement in
          statement.bind(change.key.left.key, 1)
          statement.bind(change.key.right.key, 2)
          if change.isPresent {
            if table.hasOrder { Self.bind(change.order, 3, statement: statement) }
            if table.hasInverseOrder { Self.bind(change.inverseOrder, 4, statement: statement) }
          }
          return statement.step()
        }
      }
    }
  }

  private static func bind(_ order: Int64?, _ parameter: Int32, statement: Statement) {
    if let order { statement.bind(order, parameter) } else { statement.bindNull(parameter) }
  }
}
