import Configuration
import SystemSupport

/// The folders that hold what the daemon itself lives by, and that no job may write into.
///
/// Compared by device and inode, so that no link and no spelling of a path leads around it.
struct OwnFolders: Sendable {
  private struct Identity: Hashable {
    let device: UInt64
    let inode: UInt64

    init(_ status: FileStatus) {
      device = status.device
      inode = status.inode
    }
  }

  /// Folders that count with all that is in them.
  private let trees: [String]
  /// Folders that have others in them where jobs may write.
  private let others: [String]

  /// - Parameter storeFolders: where the store keeps what is not in its file.
  init(_ paths: Paths, storeFolders: [String]) {
    trees =
      [paths.spoolTemporary, paths.spoolNew, paths.spoolCurrent, paths.spoolFailed, paths.state, paths.configuration]
      + storeFolders
    others = [paths.spool, paths.socketFolder]
  }

  /// Whether a folder is one of them, or in one of them. Costs some twenty system calls.
  func contains(_ directory: Directory) throws(SystemError) -> Bool {
    let identity = Identity(try directory.status())
    if Self.identities(others).contains(identity) { return true }
    let trees = Self.identities(trees)
    var (folder, place) = (directory, identity)
    while !trees.contains(place) {
      // Behind a folder that the daemon may not search there is none of its own.
      guard let parent = try? folder.parent() else { return false }
      let above = Identity(try parent.status())
      if above == place { return false }
      (folder, place) = (parent, above)
    }
    return true
  }

  private static func identities(_ paths: [String]) -> Set<Identity> {
    // What can't be opened here holds nothing that could be overwritten.
    Set(paths.compactMap { path in (try? Directory(path: path).status()).map { Identity($0) } })
  }
}
