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

  private let paths: [String]

  /// - Parameter storeFolders: where the store keeps what is not in its file.
  init(_ paths: Paths, storeFolders: [String]) {
    self.paths =
      [
        paths.spool, paths.spoolTemporary, paths.spoolNew, paths.spoolCurrent, paths.spoolFailed, paths.state,
        paths.keptPictures,
        paths.configuration, paths.configurationDropIns, paths.handlers, paths.models,
      ] + storeFolders
  }

  /// Whether a folder is one of them. Costs a few system calls for each.
  func contains(_ directory: Directory) throws(SystemError) -> Bool {
    let identity = Identity(try directory.status())
    return paths.contains { path in
      // What can't be opened here holds nothing that could be overwritten.
      guard let status = try? Directory(path: path).status() else { return false }
      return Identity(status) == identity
    }
  }
}
