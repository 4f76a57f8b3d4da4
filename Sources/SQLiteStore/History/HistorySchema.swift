import StoreInterface

/// The tables of a store's history. Once a store has them, everybody who writes with this library writes there too.
struct HistorySchema {
  /// The key under which `_metadata` tells the version of these tables, if they are there.
  static let versionKey = "history"
  /// The key of the number of the newest transaction that was deleted.
  static let purgedKey = "historyPurged"

  let connection: Connection

  /// Whether the store keeps a history.
  var isPresent: Bool {
    get throws(StoreError) {
      try connection.controlResult("SELECT 1 FROM _metadata WHERE key = '\(Self.versionKey)'") { _ in true } == true
    }
  }

  /// Makes the tables unless they are there.
  func create() throws(StoreError) {
    if try isPresent { return }
    try connection.transaction { () throws(StoreError) in
      try connection.control(
        "CREATE TABLE IF NOT EXISTS _transaction (number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, "
          + "author TEXT, context TEXT, process TEXT NOT NULL, writer TEXT NOT NULL)")
      try connection.control(
        "CREATE TABLE IF NOT EXISTS _change (number INTEGER NOT NULL, place INTEGER NOT NULL, entity TEXT NOT NULL, "
          + "kind TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, properties TEXT, tombstone TEXT, "
          + "PRIMARY KEY (number, place)) WITHOUT ROWID")
      try connection.control("INSERT OR REPLACE INTO _metadata VALUES ('\(Self.versionKey)', '1')")
    }
  }
}
