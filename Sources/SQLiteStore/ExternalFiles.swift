internal import Foundation
internal import Glibc
import StoreInterface

/// The folder of large values: one file each, named by a random UUID and its size in bytes.
///
/// A column that holds TEXT holds such a name; inline data is a BLOB. A file appears, synced, before the commit that
/// refers to it and goes after the commit that drops it; what a crash leaves over is swept when the store is opened.
struct ExternalFiles: Sendable {
  let folder: String
  private let isPrivate: Bool
  private var fileMode: mode_t { isPrivate ? 0o600 : 0o640 }
  private var folderMode: mode_t { isPrivate ? 0o700 : 0o750 }
  var staging: String { folder + "/staging" }

  /// - Parameter isPrivate: whether other users are kept out, also of folders that are there.
  init(storePath: String, isPrivate: Bool) {
    self.isPrivate = isPrivate
    folder = URL(fileURLWithPath: storePath).deletingPathExtension().path + "_files"
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
