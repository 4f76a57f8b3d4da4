import CSQLite
import Glibc
import StoreInterface

/// The write-ahead log beside a database, as the connection that writes sees it.
///
/// SQLite shortens a log only when it begins anew. What a transaction that was taken back had spilled into it stays until
/// then, and on a full disk that is what keeps the next transaction from being written.
struct WriteAheadLog {
  /// A log that begins anew is cut back to so many bytes: overwriting is quicker than making a file longer.
  static let keptBytes = 16 << 20

  private static let headerSize = 32
  private static let frameHeaderSize = 24

  private let connection: Connection
  private var path: String { connection.path + "-wal" }

  init(_ connection: Connection) { self.connection = connection }

  /// Makes the log as short as it can be, for a disk that is full or was so when the last process ended.
  ///
  /// It does what can be done at once: what others keep it from doing now is done after the next shortage.
  func release() {
    cutBack(to: 0)
    // The log's tail is gone; that the rest stays is no harm if there is no room in the database for it either.
    withoutWaiting { () throws(StoreError) in try connection.control("PRAGMA wal_checkpoint(TRUNCATE)") }
  }

  /// Cuts off what comes after the last commit if the log is longer than `limit`, in bytes.
  func cutBack(to limit: Int = keptBytes) {
    if FileSystem.size(of: path) <= limit { return }
    // A log that stays long takes room and nothing else.
    withoutWaiting { () throws(StoreError) in
      // Nobody adds to the log meanwhile, and readers look at commits only.
      try connection.control("BEGIN IMMEDIATE")
      defer { connection.endTransaction() }
      guard let end = committedLength, FileSystem.size(of: path) > end else { return }
      try FileSystem.call("truncate", path) { truncate(path, end) }
    }
  }

  /// The end of the last commit, by the header of the shared index (sqlite.org/walformat.html, section 2.1).
  ///
  /// It is read where SQLite has mapped it: who opens the file and closes it again lets go of the process's locks on it.
  private var committedLength: Int? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(connection.rawHandle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let methods = file.pointee.pMethods?.pointee, methods.iVersion >= 2
    else { return nil }
    var region: UnsafeMutableRawPointer?
    guard methods.xShmMap(file, 0, 32 << 10, 0, &region) == SQLITE_OK, let region else { return nil }
    // A power of two; the largest, 65,536, is written as 1.
    let pageSize = Int(region.load(fromByteOffset: 14, as: UInt16.self))
    let frameCount = Int(region.load(fromByteOffset: 16, as: UInt32.self))
    return Self.headerSize + frameCount * (Self.frameHeaderSize + (pageSize == 1 ? 65_536 : pageSize))
  }

  /// Does what may fail, and fails at once where another process is in the way.
  private func withoutWaiting(_ body: () throws(StoreError) -> Void) {
    connection.setBusyTimeout(0)
    defer { connection.resetBusyTimeout() }
    try? body()
  }
}
