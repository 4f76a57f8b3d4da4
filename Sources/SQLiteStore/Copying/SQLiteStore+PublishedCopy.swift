import Foundation
import Glibc
package import StoreInterface

extension SQLiteStore: CopyableStore {
  package func observeCommits(_ handler: @escaping @Sendable () -> Void) {
    commitObserver.withLock { $0 = handler }
  }

  package func publishCopy(
    at path: String, mode: UInt32, progress: () throws(StoreError) -> Void
  ) throws(StoreError) -> PublishedCopySize {
    let place = PublishedCopyPlace(path: path, mode: mode)
    try place.prepare()
    let copy = StoreFileCopy(of: filePath, to: place.temporary, files: place.files, mode: mode)
    do throws(StoreError) {
      let content = try copy.run(isOpenHere: true) { (_, _) throws(StoreError) in try progress() }
      try FileSystem.call("rename", path) { rename(place.temporary, path) }
      try FileSystem.sync(place.folder)
      return PublishedCopySize(bytes: content.bytes, largeValueBytes: content.largeValueBytes)
    } catch {
      place.removeTemporary()
      throw error
    }
  }
}

/// The place of a copy for other programs.
///
/// The database is replaced by a rename. The files of large values never change, so a new copy adds those that are missing;
/// those that only the last copy named stay until the next one, as somebody may have that open.
private struct PublishedCopyPlace {
  let path: String
  let mode: mode_t
  let folder: String
  let files: String
  let temporary: String

  init(path: String, mode: UInt32) {
    self.path = path
    self.mode = mode
    let url = URL(fileURLWithPath: path)
    folder = url.deletingLastPathComponent().path
    files = StoreFileCopy.filesFolder(ofStoreAt: path)
    temporary = folder + "/." + url.lastPathComponent + ".new"
  }

  /// Removes what earlier copies have left, and makes the folder of large values.
  func prepare() throws(StoreError) {
    let kept = try namesOfLastCopy()
    removeTemporary()
    try FileSystem.makeFolder(files, mode: 0o700)
    // Who may read a file of it may enter it.
    try FileSystem.call("set the rights of", files) { chmod(files, mode | 0o700 | (mode & 0o444) >> 2) }
    for name in FileSystem.names(in: files) where Self.isOurs(name) && !kept.contains(name) {
      FileSystem.remove(files + "/" + name)
    }
  }

  /// The large values of the copy that is there.
  ///
  /// - Throws: ``StoreError`` if something else is there, which is not replaced.
  private func namesOfLastCopy() throws(StoreError) -> Set<String> {
    guard try StoreHeader(path: path).check() else { return [] }
    if try StoreHeader(path: path).hasWriteAheadLog() {
      throw StoreError(.cannotOpen, "there is a store in use in the place of the copy; name another file", path: path)
    }
    return try StoreFileCopy.largeValues(inCopyAt: path)
  }

  func removeTemporary() {
    for suffix in ["", "-journal", "-wal", "-shm"] { FileSystem.remove(temporary + suffix) }
  }

  /// True for the names that files of large values have, also unfinished ones.
  private static func isOurs(_ name: String) -> Bool {
    name.wholeMatch(of: /\.?[0-9a-f-]{36}\.[0-9]+(\.new)?/) != nil
  }
}
