package import Dispatch

/// Watches for the appearance, the deletion or the replacement of a file or folder: in the lowest folder above it that exists.
package final class AncestorWatch: Sendable {
  private let watcher: DirectoryWatcher

  /// Begins to watch; look for it after this returns.
  ///
  /// - Parameters:
  ///   - path: its absolute path, which need not exist.
  ///   - queue: where the handler is called.
  ///   - handler: called when something has come to where the path leads, or has gone from there.
  package init(_ path: String, queue: DispatchQueue, handler: @escaping @Sendable () -> Void) throws(SystemError) {
    let names = path.split(separator: "/").map { FileName(String($0)) }
    var depth = max(names.count - 1, 0)
    while true {
      let above = "/" + path.split(separator: "/").prefix(depth).joined(separator: "/")
      let directory: Directory
      do throws(SystemError) { directory = try Directory(path: above) } catch {
        if depth == 0 { throw error }
        depth -= 1
        continue
      }
      let next = names.isEmpty ? nil : names[depth]
      let watcher = try DirectoryWatcher(directory, queue: queue, tellsCreation: true, tellsDeletion: true) { events in
        let concerns = events.contains { event in
          switch event {
          case .entry(let name), .created(let name), .deleted(let name): name == next
          case .rescan: true
          }
        }
        if concerns { handler() }
      }
      // It may have come before it was watched for; then a lower folder is to be watched.
      if depth < names.count - 1, let next, try directory.contains(next), Self.isFolder(above, next) {
        depth += 1
        continue
      }
      self.watcher = watcher
      return
    }
  }

  package func stop() { watcher.stop() }

  private static func isFolder(_ above: String, _ name: FileName) -> Bool {
    name.string.map { (try? Directory(path: above + "/" + $0)) != nil } ?? false
  }
}
