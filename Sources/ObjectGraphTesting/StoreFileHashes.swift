public import Foundation
import ObjectModel

/// The hashes of a store's files at a moment, to tell whether anything was written, and where.
///
/// The database, its journal (`-wal`) and the files of large values are looked at; `-shm` is shared memory and holds
/// no data.
public struct StoreFileHashes: Sendable, Equatable {
  /// The hashes by the files' names, relative to the folder that holds the store.
  public let hashes: [String: String]

  /// Reads all files. Cost: I/O, in proportion to their size.
  ///
  /// - Throws: what Foundation throws for a file that is there and can't be read.
  public init(of store: URL) throws {
    let folder = store.deletingPathExtension().lastPathComponent + "_files"
    let parent = store.deletingLastPathComponent()
    var names = [store.lastPathComponent, store.lastPathComponent + "-wal"]
    let largeValues = parent.appending(path: folder, directoryHint: .isDirectory)
    if FileManager.default.fileExists(atPath: largeValues.path) {
      names += try FileManager.default.contentsOfDirectory(atPath: largeValues.path).map { folder + "/" + $0 }
    }
    var hashes: [String: String] = [:]
    for name in names {
      let file = parent.appending(path: name)
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder), !isFolder.boolValue else {
        continue
      }
      hashes[name] = VersionHash(of: try Data(contentsOf: file)).description
    }
    self.hashes = hashes
  }

  /// The names of the files that were made, changed or removed since.
  public func changedFiles(since earlier: StoreFileHashes) -> Set<String> {
    Set(hashes.keys).union(earlier.hashes.keys).filter { hashes[$0] != earlier.hashes[$0] }
  }
}
