import Foundation
import Glibc
import ObjectModel
import SQLGeneration
import StoreInterface

/// Writes the rows of an entity to a file before a migration: NDJSON, an object per line, its key in `_key`.
///
/// Numbers and Booleans are JSON's, decimals too large for those are texts as all decimals are; dates are ISO 8601, bytes
/// hexadecimal, or `{"file": NAME}` for large values, whose files lie in a folder beside it. To-one relationships hold the
/// key of their object, to-many ones an array of keys.
struct RowExport {
  let connection: Connection
  let schema: Schema
  let files: ExternalFiles
  /// The file has this in its name, so that a migration which is tried again writes the same file.
  let hash: VersionHash

  /// The folder of the files, beside the store.
  static func folder(ofStoreAt path: String) -> String {
    URL(fileURLWithPath: path).deletingLastPathComponent().path + "/exports"
  }

  /// Writes all objects of the entity and of those that inherit from it; the file appears under its name when it is whole.
  func run(_ entity: Entity) throws(StoreError) {
    let folder = Self.folder(ofStoreAt: connection.path)
    try FileSystem.makeFolder(folder, mode: 0o700)
    let path = "\(folder)/\(entity.name).\(hash.description.prefix(8)).ndjson"
    let temporary = path + ".new"
    FileSystem.remove(temporary)
    let descriptor = try FileSystem.call("create", temporary) {
      open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    }
    defer { close(descriptor) }
    do throws(StoreError) {
      var buffer: [UInt8] = []
      func flush() throws(StoreError) {
        var rest = buffer[...]
        while !rest.isEmpty {
          rest = rest.dropFirst(
            try FileSystem.call("write", temporary) {
              rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            })
        }
        buffer.removeAll(keepingCapacity: true)
      }
      for member in entity.withDescendants {
        try connection.run(select(member)) { statement throws(StoreError) in
          buffer += statement.textBytes(0)
          buffer.append(0x0a)
          if buffer.count > 1 << 16 { try flush() }
          return true
        }
      }
      try flush()
      try keepFiles(of: entity, in: path.dropLast(".ndjson".count) + "_files")
      try FileSystem.call("sync", temporary) { fsync(descriptor) }
      try FileSystem.call("rename", temporary) { rename(temporary, path) }
      try FileSystem.sync(folder)
      try FileSystem.sync(URL(fileURLWithPath: folder).deletingLastPathComponent().path)
    } catch {
      FileSystem.remove(temporary)
      throw error
    }
  }

  /// Gives the files of large values a second name that outlives the first.
  private func keepFiles(of entity: Entity, in folder: String) throws(StoreError) {
    let name = SchemaName.quoted(schema.table(of: entity).name)
    var isMade = false
    for property in Set(entity.withDescendants.flatMap(\.properties).filter(\.isExternal).map(\.columnName)) {
      let column = SchemaName.quoted(property)
      try connection.run("SELECT \(column) FROM \(name) WHERE typeof(\(column)) = 'text'") {
        statement throws(StoreError) in
        if !isMade { try FileSystem.makeFolder(folder, mode: 0o700) }
        isMade = true
        let file = statement.text(0)
        FileSystem.remove(folder + "/" + file)
        try FileSystem.linkOrCopy(files.path(file), to: folder + "/" + file, mode: 0o600)
        return true
      }
    }
    if isMade { try FileSystem.sync(folder) }
  }

  private func select(_ entity: Entity) -> String {
    let table = schema.table(of: entity)
    var members = ["'_key', _key"] + (table.tellsEntity ? ["'_entity', _entity"] : [])
    for property in entity.properties where !property.isHidden {
      let value: String? = property.isPersistent ? column(property) : links(property, table)
      if let value { members.append("\(SchemaName.literal(property.name)), \(value)") }
    }
    let condition = table.tellsEntity ? " WHERE _entity = \(SchemaName.literal(entity.name))" : ""
    return "SELECT \(object(members)) FROM \(SchemaName.quoted(table.name))\(condition) ORDER BY _key"
  }

  /// One object of all members, although a function takes 127 arguments only, two for each.
  private func object(_ members: [String]) -> String {
    let parts = stride(from: 0, to: members.count, by: 50).map { start in
      "json_object(\(members[start..<min(start + 50, members.count)].joined(separator: ", ")))"
    }
    guard parts.count > 1 else { return parts[0] }
    return parts.enumerated().map { place, part in
      switch place {
      case 0: "substr(\(part), 1, length(\(part)) - 1)"
      case parts.count - 1: "substr(\(part), 2)"
      default: "substr(\(part), 2, length(\(part)) - 2)"
      }
    }.joined(separator: " || ',' || ")
  }

  private func column(_ property: Property) -> String {
    let column = SchemaName.quoted(property.columnName)
    guard let type = property.attribute?.type else { return column }
    switch type {
    case .boolean: return "json(CASE \(column) WHEN 0 THEN 'false' WHEN 1 THEN 'true' ELSE 'null' END)"
    case .date, .uuid: return "bobbin_convert(\(column), \(SchemaName.literal(type.rawValue)), 'String', 1)"
    case .binary, .transformable, .undefined:
      return
        "CASE typeof(\(column)) WHEN 'text' THEN json_object('file', \(column)) WHEN 'blob' THEN hex(\(column)) END"
    default: return column
    }
  }

  private func links(_ property: Property, _ table: SchemaTable) -> String? {
    let owner = "\(SchemaName.quoted(table.name))._key"
    if let join = property.joinTable {
      let (near, far) = property.isLeftEnd ? (join.leftColumn, join.rightColumn) : (join.rightColumn, join.leftColumn)
      return "(SELECT json_group_array(\(SchemaName.quoted(far))) FROM \(SchemaName.quoted(join.name)) "
        + "WHERE \(SchemaName.quoted(near)) = \(owner))"
    }
    guard let inverse = property.inverse, inverse.isPersistent, inverse.storage == .reference,
      let destination = property.destination
    else { return nil }
    return "(SELECT json_group_array(d._key) FROM \(SchemaName.quoted(schema.table(of: destination).name)) AS d "
      + "WHERE d.\(SchemaName.quoted(inverse.columnName)) = \(owner))"
  }
}

extension Property {
  /// True if values may lie in files.
  fileprivate var isExternal: Bool { isPersistent && attribute?.allowsExternalBinaryDataStorage == true }
}
