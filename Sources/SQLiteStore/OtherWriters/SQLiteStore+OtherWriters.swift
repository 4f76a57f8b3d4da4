package import ObjectGraph
import ObjectModel
import SQLGeneration

extension SQLiteStore {
  package func observeForeignCommits(_ handler: @escaping @Sendable (ForeignCommit) -> Void) throws(StoreError) {
    guard options.noticesOtherWriters, let path else { return }
    let made = try CommitWatcher(journal: path + "-wal") { [weak self] in
      if let commit = self?.foreignCommit() { handler(commit) }
    }
    watcher.withLock { $0 = made }
  }

  /// What others have committed since the last call; nil if they have not.
  private func foreignCommit() -> ForeignCommit? {
    // A store that is closed has nothing to tell, and one that can't be read tells whoever uses it.
    let commit = try? withWriter { connection throws(StoreError) -> ForeignCommit? in
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
    return commit ?? nil
  }
}
