import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface

/// Makes the tables of a new store, and brings those of an old one to the model.
struct SchemaUpdater {
  let connection: Connection
  let settings: Connection.Settings
  /// The tables that the store is to have; while it is shared, only a part of them is this program's.
  var schema: Schema
  var options: PostgresStoreOptions
  /// Code for entities whose objects can't be inferred.
  var policies: [EntityMigrationPolicy] = []

  /// Makes everything in one transaction.
  func create() throws(StoreError) {
    try connection.transaction { () throws(StoreError) in
      // Where somebody else has made it, the role need not have the right to make schemas.
      let isThere = try connection.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [.text(options.schemaName)])
      if isThere.rowCount == 0 {
        try connection.control("CREATE SCHEMA IF NOT EXISTS \(SchemaName.quoted(options.schemaName))")
      }
      let tables = [
        #"_metadata (key text COLLATE "C" PRIMARY KEY, value text NOT NULL)"#,
        #"_entity (name text COLLATE "C" PRIMARY KEY, root text NOT NULL, hash text NOT NULL)"#,
        #"_keys (root text COLLATE "C" PRIMARY KEY, next bigint NOT NULL)"#,
      ]
      for table in tables { try connection.control("CREATE TABLE \(table)") }
      for sql in LargeValues.createSQL { try connection.control(sql) }
      try setMetadata("uuid", UUID().uuidString)
      try setMetadata("format", String(StoreOpener.formatVersion))
      try add()
    }
  }

  /// Brings tables and indexes in line with the model, in one transaction and by one host at a time.
  ///
  /// - Throws: ``StoreError`` that names what can't be inferred; the store is as it was then.
  func update() throws(StoreError) {
    if try isDone() { return }
    try connection.patientTransaction { () throws(StoreError) in
      // Whoever comes second waits here, and finds the work done.
      try lock()
      let stored = try StoredModel(connection)
      let updater = try goal(stored)
      if stored.fits(updater.schema.model) {
        try updater.add()
      } else {
        try updater.migrate(stored)
      }
    }
  }

  /// The changes that ``update()`` would make, a sentence for each, and whether all of them only add something.
  func changes() throws(StoreError) -> (changes: [String], onlyAdds: Bool) {
    let stored = try StoredModel(connection)
    let goal = try goal(stored).schema.model
    guard !stored.fits(goal), let former = try stored.model(place: connection.place) else { return ([], true) }
    let mapping = MappingInference(from: former, to: goal)
    if !mapping.problems.isEmpty { throw incompatible(mapping.problems.map(\.text).joined(separator: "; ")) }
    let gone = former.entities.filter { mapping.successor(of: $0) == nil }
    return (mapping.changes + gone.map { "\($0.name) is no more" }, mapping.alterations.isEmpty)
  }

  private func isDone() throws(StoreError) -> Bool {
    let stored = try StoredModel(connection)
    let updater = try goal(stored)
    guard stored.fits(updater.schema.model), try updater.missingIndexes().isEmpty,
      try updater.viewChanges().isEmpty
    else { return false }
    return try updater.missingTriggers().isEmpty
  }

  /// The updater that also leaves what others need that have the store open with other versions of the model.
  private func goal(_ stored: StoredModel) throws(StoreError) -> SchemaUpdater {
    guard let sharing = options.sharing, let former = try stored.model(place: connection.place) else { return self }
    let filled = try columnDefaults()
    let formerSchema = Schema(former, dialect: schema.dialect)
    let union: ModelUnion
    do throws(ModelError) {
      union = try ModelUnion(of: former, and: schema.model) { entity, property in
        let table = formerSchema.table(of: entity)
        return filled["\(table.name).\(table.columnName(of: property))"] != nil
      }
    } catch { throw incompatible("\(error)") }
    if !union.changesInPlace.isEmpty {
      let hosts = try sharing.hosts()
      if !hosts.isEmpty {
        throw incompatible(
          "\(union.changesInPlace.joined(separator: "; ")). That can't be changed while \(hosts.joined(separator: ", ")) "
            + "\(hosts.count == 1 ? "has" : "have") the store open; stop \(hosts.count == 1 ? "it" : "them") first")
      }
    }
    var updater = self
    updater.schema = Schema(union.model, dialect: schema.dialect)
    return updater
  }

  /// The defaults of columns in the server's words, by "TABLE.COLUMN".
  private func columnDefaults() throws(StoreError) -> [String: String] {
    let found = try connection.query(
      "SELECT table_name || '.' || column_name, column_default FROM information_schema.columns "
        + "WHERE table_schema = current_schema() AND column_default IS NOT NULL")
    return Dictionary(uniqueKeysWithValues: (0..<found.rowCount).map { (found.text($0, 0), found.text($0, 1)) })
  }

  /// The milliseconds that a change of a shared table waits for those who use it: others wait behind it.
  private static let sharedTableWait = 1_000

  /// Keeps other hosts from changing the tables until the end of the transaction.
  func lock() throws(StoreError) {
    _ = try connection.query("SELECT value FROM _metadata WHERE key = 'format' FOR UPDATE")
    if options.sharing != nil { try connection.control("SET LOCAL lock_timeout = \(Self.sharedTableWait)") }
  }

  private func migrate(_ stored: StoredModel) throws(StoreError) {
    guard options.migratesAutomatically else {
      throw incompatible("Migrating is switched off for this store")
    }
    guard let source = try stored.model(place: connection.place) else {
      throw StoreError(
        .corrupt, "the store does not tell its model; restore it from a backup", path: connection.place)
    }
    let choices = MigrationChoices(policies.flatMap(\.statements))
    let proposal = try MigrationProposal(
      stored, source, to: schema, choices: choices, keeping: policies.map(\.source), database: database)
    if let refusal = proposal.refusal(instructions: nil) { throw incompatible(refusal) }
    // PostgreSQL keeps columns and tables that a view reads.
    let views = try storedViews().keys
    for name in views { try connection.control("DROP VIEW \(SchemaName.quoted(name))") }
    try proposal.run(on: database, keepsLostFamilies: options.sharing != nil)
    // They are of tables that were others.
    try connection.dropPrepared()
    try add(hadViews: !views.isEmpty)
    // Rows that others are writing are waited for as always.
    try connection.control("SET LOCAL lock_timeout = '\(options.lockTimeout)s'")
    try DerivedColumns(schema, coordinatorOrdinal: 0).computeAll(connection)
    if policies.isEmpty { return }
    try PolicyRun(policies, proposal.plan, on: database).run()
  }

  private var database: PostgresMigrationDatabase {
    PostgresMigrationDatabase(connection: connection, settings: settings, options: options)
  }

  private func incompatible(_ text: String) -> StoreError {
    StoreError(.incompatibleModel, "the store was made with another model: \(text)", path: connection.place)
  }

  /// - Parameter hadViews: whether there were views before the tables were changed.
  private func add(hadViews: Bool = false) throws(StoreError) {
    let present = try names("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    for table in schema.tables {
      if !present.contains(table.name) {
        try connection.control(table.createSQL)
        continue
      }
      let columns = try names(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1",
        [.text(table.name)])
      for column in table.columnNames where !columns.contains(column) {
        try connection.control(table.addColumnSQL(column))
      }
    }
    for table in schema.linkTables where !present.contains(table.name) { try connection.control(table.createSQL) }
    for trigger in try missingTriggers() { try connection.control(trigger.sql) }
    for name in try staleIndexes() { try connection.control("DROP INDEX \(SchemaName.quoted(name))") }
    for index in try missingIndexes() {
      do throws(StoreError) { try connection.control(index.sql) } catch  where error.code == .constraint {
        throw incompatible("\(error.message), which the model demands now")
      }
      // The server tells an index in words of its own, so the text that made it is kept beside it.
      try connection.control(
        "COMMENT ON INDEX \(SchemaName.quoted(index.name)) IS \(SchemaName.literal(index.sql))")
    }
    if options.sharing != nil { try setDefaults() }
    let views = try viewChanges(hadViews: hadViews)
    for name in views.stale { try connection.control("DROP VIEW \(SchemaName.quoted(name))") }
    for view in views.missing {
      try connection.control(view.sql)
      try connection.control("COMMENT ON VIEW \(SchemaName.quoted(view.name)) IS \(SchemaName.literal(view.sql))")
    }
    // Families that were kept for a model that has them again stay.
    _ = try connection.query(
      "DELETE FROM _entity WHERE root = ANY($1)", [.array(.texts(schema.tables.map(\.root.name)))])
    for entity in schema.model.entities {
      _ = try connection.query(
        "INSERT INTO _entity (name, root, hash) VALUES ($1, $2, $3)",
        [.text(entity.name), .text(entity.root.name), .text(entity.versionHash.description)])
    }
    try setMetadata("model", schema.model.versionHash.description)
    try setMetadata(StoredModel.definitionKey, ModelText.xml(schema.model))
  }

  /// Has the database fill in what others leave out that know an earlier version of the model.
  ///
  /// A table is locked for it, so that those stay as they are whose defaults are the same.
  private func setDefaults() throws(StoreError) {
    var wanted: [ColumnDefault] = []
    for table in schema.tables {
      for entity in table.members {
        for property in entity.properties where property.isPersistent && property.declaringEntity == entity.name {
          guard let attribute = property.attribute, attribute.derivation == nil,
            let value = attribute.defaultValue.converted(to: attribute.type), !value.isNull
          else { continue }
          wanted.append(
            ColumnDefault(
              table.name, table.columnName(of: property), value: SQLBinding(value, as: attribute.type).literal))
        }
      }
    }
    let kept = try unchanged(wanted)
    for one in wanted where !kept.contains(one.name) { try connection.control(one.sql) }
  }

  /// The names of those that the columns have; the server words values in its own way, and compares them itself.
  private func unchanged(_ wanted: [ColumnDefault]) throws(StoreError) -> Set<String> {
    let present = try columnDefaults()
    let comparable = wanted.compactMap { one in
      // What calls a function, such as the next number of a sequence, is not tried, and is not ours.
      present[one.name].flatMap {
        $0.replacing(/'(?:[^']|'')*'/, with: "").contains("(") ? nil : (one.name, $0, one.literal)
      }
    }
    if comparable.isEmpty { return [] }
    let rows = comparable.map { name, present, literal in
      "(\(SchemaName.literal(name)), (\(present))::text = (\(literal))::text)"
    }
    return try names(
      "SELECT name FROM (VALUES \(rows.joined(separator: ", "))) AS d (name, is_same) WHERE is_same")
  }

  func setMetadata(_ key: String, _ value: String) throws(StoreError) {
    _ = try connection.query(
      "INSERT INTO _metadata (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      [.text(key), .text(value)])
  }

  private func names(_ sql: String, _ bindings: [SQLBinding] = []) throws(StoreError) -> Set<String> {
    let result = try connection.query(sql, bindings)
    return Set((0..<result.rowCount).map { result.text($0, 0) })
  }

  /// The SQL of our indexes in the store, by name.
  private func indexes() throws(StoreError) -> [String: String] {
    let result = try connection.query(
      "SELECT c.relname, obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "WHERE c.relkind = 'i' AND n.nspname = current_schema() AND obj_description(c.oid, 'pg_class') IS NOT NULL")
    var indexes: [String: String] = [:]
    for row in 0..<result.rowCount { indexes[result.text(row, 0)] = result.text(row, 1) }
    return indexes
  }

  /// The SQL of our views in the schema, by name: kept beside them, as that of the indexes is.
  private func storedViews() throws(StoreError) -> [String: String] {
    let result = try connection.query(
      "SELECT c.relname, coalesce(obj_description(c.oid, 'pg_class'), '') FROM pg_class c "
        + "JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "WHERE c.relkind = 'v' AND n.nspname = current_schema() AND starts_with(c.relname, $1)",
      [.text(SchemaView.prefix)])
    return Dictionary(uniqueKeysWithValues: (0..<result.rowCount).map { (result.text($0, 0), result.text($0, 1)) })
  }

  private func viewChanges(hadViews: Bool = false) throws(StoreError) -> ViewChanges {
    ViewChanges(of: try storedViews(), to: schema, makesViews: options.makesViews || hadViews)
  }

  /// The triggers of the model's tables that are not there; those of one name may be of different tables.
  private func missingTriggers() throws(StoreError) -> [SchemaTable.Trigger] {
    let stored = try names(
      "SELECT t.tgname || ' ' || c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
        + "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND NOT t.tgisinternal")
    return schema.tables.filter { !stored.contains("\($0.versionTrigger.name) \($0.name)") }.map(\.versionTrigger)
  }

  private func missingIndexes() throws(StoreError) -> [SchemaTable.Index] {
    let stored = try indexes()
    return schema.allIndexes.filter { stored[$0.name] != $0.sql }
  }

  /// The indexes that the model defines no longer, or otherwise; other versions of it may define more of them.
  private func staleIndexes() throws(StoreError) -> [String] {
    let wanted = Dictionary(uniqueKeysWithValues: schema.allIndexes.map { ($0.name, $0.sql) })
    let isShared = options.sharing != nil
    return try indexes().filter { name, sql in
      let mayBeOthers = isShared && wanted[name] == nil && !name.hasPrefix("_unique_")
      return wanted[name] != sql && !mayBeOthers
    }.map(\.key)
  }
}

/// A value that the database gives to a column if nobody else does.
private struct ColumnDefault {
  /// As "TABLE.COLUMN".
  let name: String
  let literal: String
  let sql: String

  init(_ table: String, _ column: String, value literal: String) {
    name = "\(table).\(column)"
    self.literal = literal
    sql =
      "ALTER TABLE \(SchemaName.quoted(table)) ALTER COLUMN \(SchemaName.quoted(column)) SET DEFAULT \(literal)"
  }
}

extension StoredModel {
  /// Reads what the store tells of its model.
  init(_ connection: Connection) throws(StoreError) {
    let found = try connection.query("SELECT name, root, hash FROM _entity")
    let entities = (0..<found.rowCount).map { row in
      StoredEntity(found.text(row, 0), root: found.text(row, 1), hash: found.text(row, 2))
    }
    let definition = try connection.query("SELECT value FROM _metadata WHERE key = $1", [.text(Self.definitionKey)])
    self.init(entities, definition: definition.rowCount == 0 ? nil : definition.text(0, 0))
  }
}

extension SQLBinding {
  /// The value as SQL of the server's dialect.
  fileprivate var literal: String {
    switch self {
    case .null, .array: "NULL"
    case .integer(let number): "\(number)"
    case .double(let number): "'\(number)'::float8"
    case .text(let text): SchemaName.literal(text)
    case .blob(let bytes):
      "'\\x\(bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())'::bytea"
    }
  }
}
