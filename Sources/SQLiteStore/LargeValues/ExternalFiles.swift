import Foundation
import Glibc
import SQLGeneration
import StoreInterface

/// The folder of large values: one file each, named by a random UUID and its size in bytes.
///
/// A column that holds TEXT holds such a name; inline data is a BLOB. A file appears, synced, before the commit that
/// refers to it and goes after the commit that drops it; what a crash leaves over is swept when the store is opened.
struct ExternalFiles: Sendable {
  let folder: String
  /// Removes files whose rows are gone.
  let removal: FileRemoval
  private let isPrivate: Bool
  private var fileMode: mode_t { isPrivate ? 0o600 : 0o640 }
  private var folderMode: mode_t { isPrivate ? 0o700 : 0o750 }
  var staging: String { folder + "/staging" }

  /// - Parameter isPrivate: whether other users are kept out, also of folders that are there.
  init(storePath: String, isPrivate: Bool) {
    self.isPrivate = isPrivate
    folder = URL(fileURLWithPath: storePath).deletingPathExtension().path + "_files"
    removal = FileRemoval(folder: folder)
  }

  func path(_ name: String) -> String { folder + "/" + name }

  /// The blob of a name that a column holds.
  func blob(named name: String) -> Blob {
    let byteCount = name.split(separator: ".").last.flatMap { Int($0) } ?? 0
    return Blob(.stored(path: path(name), byteCount: byteCount))
  }

  /// The name of a file in the folder, or nil if the path leads elsewhere.
  func name(ofPath path: String) -> String? {
    guard path.hasPrefix(folder + "/") else { return nil }
    let name = path.dropFirst(folder.utf8.count + 1)
    return name.contains("/") ? nil : String(name)
  }

  func newName(byteCount: Int) -> String { "\(UUID().uuidString.lowercased()).\(byteCount)" }

  /// Writes bytes under a new name; the folder is to be synced before the commit.
  func add(_ bytes: UnsafeRawBufferPointer) throws(StoreError) -> String {
    let name = newName(byteCount: bytes.count)
    let temporary = path(".\(name).new")
    do throws(StoreError) {
      try FileSystem.write(bytes, to: temporary, mode: fileMode)
      try FileSystem.call("rename", temporary) { rename(temporary, path(name)) }
    } catch {
      FileSystem.remove(temporary)
      throw error
    }
    return name
  }

  /// Makes a file of the store of another file, which stays where it is; the folder is to be synced before the commit.
  func add(fileAt source: String, byteCount: Int) throws(StoreError) -> String {
    let name = newName(byteCount: byteCount)
    do throws(StoreError) { try FileSystem.linkOrCopy(source, to: path(name), mode: fileMode) } catch {
      FileSystem.remove(path(name))
      throw error
    }
    return name
  }

  /// Creates the folders; the lock that is returned tells other processes that the staging folder is in use.
  ///
  /// Staged files that a crash left over are removed, unless another process has the store open.
  func open() throws(StoreError) -> FolderLock {
    for place in [folder, staging] {
      try FileSystem.makeFolder(place, mode: folderMode)
      if isPrivate { try FileSystem.makePrivate(place) }
    }
    let lock = try FolderLock(staging)
    if lock.isAlone {
      for name in FileSystem.names(in: staging) { FileSystem.remove(staging + "/" + name) }
    }
    try lock.share()
    return lock
  }
}

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

/// Holds a lock on a folder while it lives.
final class FolderLock: Sendable {
  private let descriptor: Int32
  private let path: String
  /// True if nobody else had the lock when it was taken.
  let isAlone: Bool

  init(_ path: String) throws(StoreError) {
    self.path = path
    descriptor = try FileSystem.call("open", path) { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    isAlone = flock(descriptor, LOCK_EX | LOCK_NB) == 0
  }

  deinit { close(descriptor) }

  /// Takes the lock for this holder alone; false if others have it too.
  func takeAlone() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

  /// Lets others have the lock too.
  func share() throws(StoreError) {
    try FileSystem.call("lock", path) { flock(descriptor, LOCK_SH) }
  }
}
