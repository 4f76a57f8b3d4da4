import SQLGeneration
import StoreInterface

/// Removes files that no row refers to: what a crash between file and commit left over.
struct FileSweep {
  let connection: Connection
  let schema: Schema
  let files: ExternalFiles

  func run() throws(StoreError) {
    let found = FileSystem.names(in: files.folder).filter { $0 != "staging" }
    guard !found.isEmpty else { return }
    // A save makes its files inside its transaction, so while the sweep has the write lock none is in the making.
    connection.setBusyTimeout(0)
    defer { connection.resetBusyTimeout() }
    do throws(StoreError) {
      try connection.transaction { () throws(StoreError) in
        let known = try referredNames()
        for name in FileSystem.names(in: files.folder) where name != "staging" && !known.contains(name) {
          FileSystem.remove(files.path(name))
        }
      }
    } catch  where error.code == .busy {
      // Another process writes; it swept when it opened the store.
    }
  }

  /// The names in all columns of all tables of the store, those of entities the model lacks included.
  func referredNames() throws(StoreError) -> Set<String> {
    var selects: [String] = []
    try connection.runControl(
      "SELECT tbl_name, substr(name, length(tbl_name) + 9) FROM sqlite_master WHERE type = 'index' AND "
        + "substr(name, 1, 7) = '_files_'"
    ) { statement in
      let column = SchemaName.quoted(statement.text(1))
      selects.append(
        "SELECT \(column) FROM \(SchemaName.quoted(statement.text(0))) WHERE typeof(\(column)) = 'text'")
      return true
    }
    var names: Set<String> = []
    for select in selects {
      try connection.runControl(select) { statement in
        names.insert(statement.text(0))
        return true
      }
    }
    return names
  }
}
