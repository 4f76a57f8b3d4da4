import ObjectModel
import SQLGeneration
package import StoreInterface

extension SQLiteStore {
  package func observeForeignCommits(_ handler: @escaping @Sendable (ForeignCommit) -> Void) throws(StoreError) {
    guard options.noticesOtherWriters, let path else { return }
    let made = try CommitWatcher(journal: path + "-wal") { [weak self] mayWait, watchAgain in
      self?.look(mayWait, watchAgain, handler) ?? true
    }
    watcher.withLock { $0 = made }
  }

  /// Tells what others have committed since the last call; see ``CommitWatcher/Look``.
  ///
  /// While this store writes itself there is nothing to be seen, since nobody else can commit. To wait for that would keep
  /// a processor busy that the writer can use.
  private func look(_ mayWait: Bool, _ watchAgain: () -> Void, _ handler: (ForeignCommit) -> Void) -> Bool {
    func look(_ connection: Connection?) -> ForeignCommit? {
      guard let connection else { return nil }
      watchAgain()
      // One that can't be read tells whoever uses it.
      return try? foreignCommit(connection)
    }
    let found: ForeignCommit??
    if mayWait {
      found = .some(writer.withLock { look($0?.connection) })
    } else {
      found = writer.withLockIfAvailable { look($0?.connection) }
    }
    guard let found else { return false }
    if let found { handler(found) }
    return true
  }

  private func foreignCommit(_ connection: Connection) throws(StoreError) -> ForeignCommit? {
    guard try noticesForeignCommit(connection) else { return nil }
    var keys: [(root: Entity, key: Int64)] = []
    for table in schema.tables {
      let highest = try connection.controlResult("SELECT max(_key) FROM \(SchemaName.quoted(table.name))") {
        $0.isNull(0) ? 0 : $0.integer(0)
      }
      keys.append((table.root, highest ?? 0))
    }
    return ForeignCommit(highestKeys: keys)
  }
}
