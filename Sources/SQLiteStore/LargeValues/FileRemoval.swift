import Glibc
import SQLGeneration
import StoreInterface
import Synchronization

/// Removes files of large values when their rows are gone: later, while somebody copies the store.
///
/// Whoever copies holds a ``FileHold`` from before its snapshot until it has the files of that. What is dropped meanwhile
/// goes with the next files that are, with the close of the store, or with the sweep when it is next opened.
final class FileRemoval: Sendable {
  private let folder: String
  /// Names that are still to be removed.
  private let waiting = Mutex<[String]>([])

  init(folder: String) { self.folder = folder }

  /// Removes files whose rows are gone, durably, and those that had to wait.
  func remove(_ names: [String]) {
    waiting.withLock { waiting in
      waiting += names
      if waiting.isEmpty { return }
      let isDone = Self.whileUnheld(folder) { for name in waiting { FileSystem.remove(folder + "/" + name) } }
      if isDone { waiting = [] }
    }
  }

  /// Runs a body that removes files, unless somebody holds them; true if it ran.
  static func whileUnheld<Failure: Error>(_ folder: String, _ body: () throws(Failure) -> Void) throws(Failure) -> Bool
  {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
    // A child that is just being started may have a copy of the descriptor, so closing it would not be enough.
    defer { flock(descriptor, LOCK_UN) }
    try body()
    return true
  }
}

/// Keeps the files of large values from being removed, in whichever process, while it lives.
final class FileHold: Sendable {
  private let descriptor: Int32

  /// Waits for files that are being removed at this moment.
  ///
  /// - Parameter folder: the folder of large values.
  init(_ folder: String) throws(StoreError) {
    let descriptor = try FileSystem.call("open", folder) { open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    self.descriptor = descriptor
    try FileSystem.call("lock", folder) { flock(descriptor, LOCK_SH) }
  }

  deinit {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}

/// Removes files that no row refers to: what a crash between file and commit left over.
struct FileSweep {
  let connection: Connection
  let files: ExternalFiles

  func run() throws(StoreError) {
    let found = FileSystem.names(in: files.folder).filter { $0 != "staging" }
    guard !found.isEmpty else { return }
    // A save makes its files inside its transaction, so while the sweep has the write lock none is in the making.
    connection.setBusyTimeout(0)
    defer { connection.resetBusyTimeout() }
    do throws(StoreError) {
      try connection.transaction { () throws(StoreError) in
        let known = try connection.largeValueNames()
        // While somebody copies the store they stay until it is next opened.
        _ = FileRemoval.whileUnheld(files.folder) {
          for name in FileSystem.names(in: files.folder) where name != "staging" && !known.contains(name) {
            FileSystem.remove(files.path(name))
          }
        }
      }
    } catch  where error.code == .busy {
      // Another process writes; it swept when it opened the store.
    }
  }
}

extension Connection {
  /// The files of large values that rows name, those of entities that the model lacks included.
  func largeValueNames() throws(StoreError) -> Set<String> {
    var selects: [String] = []
    try runControl(
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
      try runControl(select) { statement in
        names.insert(statement.text(0))
        return true
      }
    }
    return names
  }
}
