import Dispatch
import Synchronization
import SystemSupport

/// Watches what lies in a hot folder while that is there, and whether its path leads elsewhere.
final class HotFolderWatch: Sendable {
  private let path: String
  private let isRecursive: Bool
  private let queue: DispatchQueue
  private let watches = Mutex<(tree: HotFolderTree?, ancestor: AncestorWatch?)>((nil, nil))

  /// Watches nothing before ``open(whenSomethingComes:whenElsewhere:)``.
  ///
  /// - Parameter queue: where the handlers are called.
  init(path: String, isRecursive: Bool, queue: DispatchQueue) {
    self.path = path
    self.isRecursive = isRecursive
    self.queue = queue
  }

  /// The folder that is watched; nil while there is none.
  var tree: HotFolderTree? { watches.withLock { $0.tree } }

  /// True if the path leads to the folder that is watched.
  var isCurrent: Bool {
    guard let tree else { return false }
    return (try? tree.isReplaced(at: path)) == false
  }

  /// Watches the folder to which the path leads now, or else for one to come.
  ///
  /// - Returns: false if it is the one that was watched before.
  func open(
    whenSomethingComes notice: @escaping @Sendable ([HotFolderTree.Event]) -> Void,
    whenElsewhere: @escaping @Sendable () -> Void
  ) throws(SystemError) -> Bool {
    do throws(SystemError) {
      // Before the look at the folder itself, so that nothing is missed in between.
      let ancestor = try AncestorWatch(path, queue: queue, handler: whenElsewhere)
      let old = watches.withLock { watches in
        defer { watches.ancestor = ancestor }
        return watches
      }
      old.ancestor?.stop()
      if let tree = old.tree, try !tree.isReplaced(at: path) { return false }
      let tree = try HotFolderTree(path: path, isRecursive: isRecursive, queue: queue, handler: notice)
      watches.withLock { $0.tree = tree }
      old.tree?.stop()
      return true
    } catch {
      watches.withLock { watches in
        watches.tree?.stop()
        watches.tree = nil
      }
      throw error
    }
  }

  /// Lets go of everything.
  func stop() {
    watches.withLock { watches in
      watches.tree?.stop()
      watches.ancestor?.stop()
      watches = (nil, nil)
    }
  }
}
