extension SchemaTable {
  /// What the database does by itself when a row is changed.
  package struct Trigger: Sendable, Hashable {
    package let name: String
    package let sql: String
  }

  /// Raises the version of a row that a client changes which knows nothing of versions, so that others meet a conflict
  /// instead of overwriting its change.
  package var versionTrigger: Trigger {
    let trigger = "_version_\(name)"
    let table = SchemaName.quoted(name)
    return Trigger(
      name: trigger,
      sql: """
        CREATE TRIGGER \(SchemaName.quoted(trigger)) AFTER UPDATE ON \(table) WHEN new._version = old._version \
        BEGIN UPDATE \(table) SET _version = old._version + 1 WHERE _key = new._key; END
        """)
  }
}
