import ObjectModel
import SQLGeneration
import StoreInterface

/// Reads the objects that relationships lead to, for tests in memory: many owners with one statement.
///
/// Rows come in pieces. When the first object of a piece is asked for what it leads to, all others of that piece are
/// asked as well, since they will be.
final class RelatedLoader {
  private let connection: Connection
  private let tables: StoredTables
  /// The names of the relationships that may be followed.
  private var names: Set<String>
  /// The rows that are known, nil of objects that are not there.
  private var rows: [ManagedObjectID: Row?] = [:]
  /// Objects that known rows lead to, by the index of their root.
  private var unread: [UInt16: Set<ManagedObjectID>] = [:]
  private var destinations: [ObjectIdentifier: [Int64: [RelatedObjects.Object]]] = [:]
  private var references: [[Int]] = []
  /// More rows than these are not kept from one piece to the next.
  private static let rowLimit = 20_000

  /// - Parameter names: the names of the relationships that may be followed; those of other properties do no harm.
  init(_ connection: Connection, _ tables: StoredTables, names: Set<String>) {
    self.connection = connection
    self.tables = tables
    self.names = names
  }

  /// Adds the relationships on a path.
  func follow(_ path: [String]) { names.formUnion(path) }

  /// The loader as evaluation in memory takes it; valid as long as this is held.
  var objects: RelatedObjects {
    RelatedObjects(row: { [self] in try row(for: $0) }, destinations: { [self] in try destinations(of: $0, $1) })
  }

  /// Notes the rows of a piece, whose relationships will be followed.
  func add(_ piece: [(id: ManagedObjectID, row: StoredRow)]) {
    if rows.count > Self.rowLimit {
      rows = [:]
      unread = [:]
      destinations = [:]
    }
    for (id, stored) in piece { note(id, stored.row) }
  }

  private func note(_ id: ManagedObjectID, _ row: Row) {
    rows[id] = .some(row)
    unread[id.rootIndex]?.remove(id)
    if references.isEmpty {
      references = tables.schema.model.entities.map { entity in
        entity.properties.filter { $0.storage == .reference && $0.isPersistent && names.contains($0.name) }.map(\.slot)
      }
    }
    for slot in references[Int(row.entityIndex)] {
      if let next = row.referenceIfPresent(slot), rows[next] == nil {
        unread[next.rootIndex, default: []].insert(next)
      }
    }
  }

  private func row(for id: ManagedObjectID) throws(StoreError) -> Row? {
    if let known = rows[id] { return known }
    var ids = [id]
    unread[id.rootIndex]?.remove(id)
    for other in unread[id.rootIndex] ?? [] {
      if ids.count == StoredTables.chunk { break }
      ids.append(other)
    }
    unread[id.rootIndex]?.subtract(ids)
    for (id, stored) in zip(ids, try tables.rows(for: ids, connection)) {
      if let stored { note(id, stored.row) } else { rows[id] = .some(nil) }
    }
    return rows[id] ?? nil
  }

  private func destinations(
    of owner: ManagedObjectID, _ property: Property
  ) throws(StoreError) -> [RelatedObjects.Object] {
    let relationship = ObjectIdentifier(property)
    if let known = destinations[relationship]?[owner.key] { return known }
    var owners = [owner.key]
    for (id, row) in rows where row != nil && id.rootIndex == owner.rootIndex && id.key != owner.key {
      if owners.count == StoredTables.chunk { break }
      if destinations[relationship]?[id.key] == nil { owners.append(id.key) }
    }
    var found = destinations[relationship] ?? [:]
    for key in owners { found[key] = [] }
    for (key, id, row) in try objects(of: owners, property, ordinal: owner.coordinatorOrdinal) {
      found[key, default: []].append((id, row))
    }
    destinations[relationship] = found
    for (id, row) in found.values.joined() where rows[id] == nil { note(id, row) }
    return found[owner.key] ?? []
  }

  /// The objects that a to-many relationship of several objects leads to, each with its owner's key.
  private func objects(
    of owners: [Int64], _ property: Property, ordinal: UInt32
  ) throws(StoreError) -> [(owner: Int64, id: ManagedObjectID, row: Row)] {
    guard let destination = property.destination else { return [] }
    let table = tables.schema.table(of: destination)
    guard let source = source(property, table) else { return [] }
    let columns = table.columnNames.map { "d." + SchemaName.quoted($0) }.joined(separator: ", ")
    var keys = Parameters()
    keys.add(integers: owners)
    let result = try connection.query(
      "SELECT \(source.owner), \(columns) FROM \(source.tables) WHERE \(source.owner) = ANY($1)", keys)
    // The owner's column has no name that a property's could have.
    var family = tables.decoder(table, columns: ["_owner key"] + table.columnNames)
    var objects: [(owner: Int64, id: ManagedObjectID, row: Row)] = []
    objects.reserveCapacity(result.rowCount)
    for row in 0..<result.rowCount {
      guard let decoder = family.decoder(result, row) else { continue }
      let id = decoder.id(result, row, ordinal: ordinal)
      // Siblings of the destination may have a property that shares the column.
      guard tables.schema.model.entities[Int(id.entityIndex)].isKind(of: destination) else { continue }
      objects.append((result.integer(row, 0), id, decoder.row(result, row, ordinal: ordinal).row))
    }
    return objects
  }

  /// The tables to select destinations from, and the column with their owner's key.
  private func source(_ property: Property, _ table: SchemaTable) -> (tables: String, owner: String)? {
    let destinations = "\(SchemaName.quoted(table.name)) AS d"
    let dialect = tables.schema.dialect
    if let join = property.joinTable {
      let ends = [join.leftColumn, join.rightColumn].map(dialect.quoted)
      let (own, other) = property.isLeftEnd ? (ends[0], ends[1]) : (ends[1], ends[0])
      let links = SchemaName.quoted(tables.schema.linkTables[join.index].name)
      return ("\(links) AS l JOIN \(destinations) ON d._key = l.\(other)", "l.\(own)")
    }
    return property.inverse.map { (destinations, "d." + SchemaName.quoted(table.columnName(of: $0))) }
  }
}
