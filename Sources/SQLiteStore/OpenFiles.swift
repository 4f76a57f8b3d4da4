internal import Glibc
import StoreInterface

/// The files that SQLite has open for a store, by which it is noticed that one was removed or replaced.
///
/// SQLite itself goes on writing to a file that has lost its name, and each commit would be gone with the process.
struct OpenFiles: Sendable {
  private struct Identity: Equatable {
    let device: dev_t
    let inode: ino_t

    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      (device, inode) = (status.st_dev, status.st_ino)
    }
  }

  private let files: [(path: String, identity: Identity?)]

  /// Notes which files they are; to be called when a connection has read from the store.
  init(of path: String) {
    files = StoreFile.paths(of: path).map { ($0, Identity($0)) }
  }

  /// - Throws: ``StoreError`` if a file has another name now, or none, and another file perhaps its name.
  func check() throws(StoreError) {
    for (path, identity) in files where Identity(path) != identity {
      throw StoreError(
        .inputOutput,
        "the file was removed or replaced while the store was open, and what was saved since then may be lost; stop who "
          + "did it, and restore the store from a backup if the file is gone", path: path)
    }
  }
}

/// The files that SQLite makes of a store.
enum StoreFile {
  /// The database, its log and the log's shared index.
  static func paths(of store: String) -> [String] { ["", "-wal", "-shm"].map { store + $0 } }
}
