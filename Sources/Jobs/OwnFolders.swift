import Foundation
package import ObjectGraph
package import SystemSupport

/// The folders that hold what the daemon itself lives by, and that no job may write into.
///
/// Compared by device and inode, so that no link and no spelling of a path leads around it.
package struct OwnFolders: Sendable {
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

  /// - Parameters:
  ///   - trees: folders that count with all that is in them.
  ///   - others: folders that have others in them where jobs may write.
  ///   - coordinator: has the store open, which keeps some of its values in a folder.
  package init(trees: [String], others: [String], storeOf coordinator: PersistentStoreCoordinator) {
    let staging = coordinator.stagingDirectory.map { [$0, URL(fileURLWithPath: $0).deletingLastPathComponent().path] }
    self.trees = trees + (staging ?? [])
    self.others = others
  }

  /// Checks that a folder is none of them.
  package func refuse(_ folder: Directory) throws(PathProblem) {
    do throws(SystemError) {
      if try !contains(folder) { return }
    } catch {
      throw PathProblem(error)
    }
    throw PathProblem("the folder is the daemon's own")
  }

  /// True if a folder is one of them, or in one of them. Costs some twenty system calls.
  package func contains(_ directory: Directory) throws(SystemError) -> Bool {
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
