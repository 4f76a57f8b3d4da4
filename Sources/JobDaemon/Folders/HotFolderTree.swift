import Dispatch
import Synchronization
import SystemSupport

/// The folder of a hot folder, and those within if they count, watched from when they are met.
///
/// Everything is reached from the open folder at the top, name by name and without following links, so that nobody who
/// may write there can lead the daemon elsewhere.
final class HotFolderTree: Sendable {
  /// Something that happened in the tree.
  enum Event {
    /// There may be something new under this path.
    case sighted(InnerPath)
    /// Events were lost, or folders have moved: only a visit of everything tells.
    case lost
  }

  private let root: Directory
  private let isRecursive: Bool
  private let watcher: DirectorySetWatcher
  private let folders: Watches

  private typealias Watches = WatchedFolders

  /// Opens the folder; nothing is watched before the first visit.
  ///
  /// - Parameters:
  ///   - path: the path of the folder.
  ///   - isRecursive: true if folders within count.
  ///   - queue: where the handler is called.
  init(
    path: String, isRecursive: Bool, queue: DispatchQueue, handler: @escaping @Sendable ([Event]) -> Void
  ) throws(SystemError) {
    root = try Directory(path: path)
    self.isRecursive = isRecursive
    let folders = Watches()
    self.folders = folders
    watcher = try DirectorySetWatcher(queue: queue) { events in
      handler(events.compactMap { watch, event in folders.meaning(of: event, in: watch) })
    }
  }

  func stop() { watcher.stop() }

  /// Returns true if the path leads to another folder by now.
  func isReplaced(at path: String) throws(SystemError) -> Bool {
    try !Directory(path: path).status().isSameFile(as: root.status())
  }

  /// Opens a folder of the tree.
  func directory(_ path: InnerPath) throws(SystemError) -> Directory {
    var directory = root
    for name in path.names { directory = try directory.openDirectory(name) }
    return directory
  }

  /// The status of each folder from the top to one of the tree.
  func statuses(to path: InnerPath) throws(SystemError) -> [FileStatus] {
    var directory = root
    var statuses = [try root.status()]
    for name in path.names {
      directory = try directory.openDirectory(name)
      statuses.append(try directory.status())
    }
    return statuses
  }

  /// Visits everything: watches each folder, then tells each regular file in it.
  ///
  /// - Returns: the problems of folders that can't be read or watched; the others are visited all the same.
  func visitAll(_ body: (InnerPath) -> Void) -> [SystemError] {
    let known = folders.all
    var met: Set<DirectorySetWatcher.Watch> = []
    let problems = visit(.root, met: &met, body)
    // A folder that can't be opened for a moment must not lose its watch.
    if problems.isEmpty { for watch in known.subtracting(met) { remove(watch) } }
    return problems
  }

  /// Visits a folder that has come, if folders within count, and what lies in it.
  func visit(_ folder: InnerPath, _ body: (InnerPath) -> Void) -> [SystemError] {
    if !isRecursive { return [] }
    var met: Set<DirectorySetWatcher.Watch> = []
    return visit(folder, met: &met, body)
  }

  private func visit(
    _ start: InnerPath, met: inout Set<DirectorySetWatcher.Watch>, _ body: (InnerPath) -> Void
  ) -> [SystemError] {
    var problems: [SystemError] = []
    var left = [start]
    while let folder = left.popLast() {
      do throws(SystemError) {
        let directory = try directory(folder)
        let watch = try watcher.add(directory, tellsCreation: true)
        folders.set(folder, of: watch)
        met.insert(watch)
        for name in try directory.entries() where !name.isHidden {
          switch try kind(of: name, in: directory) {
          case .regular: body(folder.appending(name))
          case .directory where isRecursive: left.append(folder.appending(name))
          default: break
          }
        }
      } catch {
        // One that has gone meanwhile is no problem, but for the top.
        if folder == .root || ![.noEntry, .symbolicLink, .notDirectory].contains(error.code) { problems.append(error) }
      }
    }
    return problems
  }

  private func kind(of name: FileName, in directory: Directory) throws(SystemError) -> FileStatus.Kind? {
    do throws(SystemError) { return try directory.status(of: name).kind } catch {
      if error.code == .noEntry { return nil }
      throw error
    }
  }

  private func remove(_ watch: DirectorySetWatcher.Watch) {
    watcher.remove(watch)
    folders.remove(watch)
  }
}

/// The paths of watched folders.
private final class WatchedFolders: Sendable {
  private let paths = Mutex<[DirectorySetWatcher.Watch: InnerPath]>([:])

  var all: Set<DirectorySetWatcher.Watch> { paths.withLock { Set($0.keys) } }

  /// Notes the path of a folder, which may have moved since it was noted first.
  func set(_ path: InnerPath, of watch: DirectorySetWatcher.Watch) { paths.withLock { $0[watch] = path } }

  func remove(_ watch: DirectorySetWatcher.Watch) { paths.withLock { _ = $0.removeValue(forKey: watch) } }

  /// The meaning of an event for the tree; nil if it has none.
  func meaning(of event: DirectoryEvent, in watch: DirectorySetWatcher.Watch?) -> HotFolderTree.Event? {
    switch event {
    case .entry(let name), .created(let name):
      guard !name.isHidden, let watch, let folder = paths.withLock({ $0[watch] }) else { return nil }
      return .sighted(folder.appending(name))
    case .deleted: return nil
    case .rescan(.watchRemoved):
      // The folder is gone; one of the same name raises an event of its own.
      if let watch { remove(watch) }
      return nil
    case .rescan: return .lost
    }
  }
}
