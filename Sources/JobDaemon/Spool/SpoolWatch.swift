import Dispatch
import Synchronization
import SystemSupport

/// Watches `new/`, also when another folder takes its place.
final class SpoolWatch: Sendable {
  private let spool: Spool
  private let queue: DispatchQueue
  private let log: DaemonLog
  private let handler: @Sendable ([DirectoryEvent]) -> Void
  private let watchers = Mutex<(parent: DirectoryWatcher?, new: DirectoryWatcher?)>((nil, nil))

  /// Begins to watch; look through the folder after this returns.
  ///
  /// - Parameters:
  ///   - queue: where the handler is called.
  ///   - handler: receives the events of `new/`.
  init(
    _ spool: Spool, queue: DispatchQueue, log: DaemonLog, handler: @escaping @Sendable ([DirectoryEvent]) -> Void
  ) throws(SystemError) {
    self.spool = spool
    self.queue = queue
    self.log = log
    self.handler = handler
    let parent = try DirectoryWatcher(try Directory(path: spool.path), queue: queue, tellsCreation: true) {
      [weak self] in self?.noticeInParent($0)
    }
    let new = try watch()
    watchers.withLock { $0 = (parent, new) }
  }

  func stop() {
    watchers.withLock { watchers in
      watchers.parent?.stop()
      watchers.new?.stop()
      watchers = (nil, nil)
    }
  }

  private func watch() throws(SystemError) -> DirectoryWatcher {
    try DirectoryWatcher(spool.new, queue: queue, tellsCreation: true) { [weak self] in self?.notice($0) }
  }

  private func notice(_ events: [DirectoryEvent]) {
    for case .rescan(let reason) in events where reason != .overflow { reopen(because: reason) }
    handler(events)
  }

  /// Handles events of the folder above, where a replaced `new/` shows; the removal of the old one is not always
  /// reported, as the daemon keeps it open.
  private func noticeInParent(_ events: [DirectoryEvent]) {
    let isReplaced = events.contains { event in
      switch event {
      case .entry(let name), .created(let name), .deleted(let name): name == "new"
      case .rescan: true
      }
    }
    if isReplaced { reopen(because: nil) }
  }

  private func reopen(because reason: DirectoryEvent.RescanReason?) {
    do throws(SystemError) {
      // A watch that has ended is made anew, even on the same folder.
      let isOver = reason.map { $0 != .directoryMoved } ?? false
      guard try spool.reopenNew() || isOver else { return }
      let watcher = try watch()
      let old = watchers.withLock { watchers in
        defer { watchers.new = watchers.parent == nil ? nil : watcher }
        return watchers.new
      }
      old?.stop()
      log.warning("new/ was replaced; watching what is there now")
      handler([.rescan(.directoryMoved)])
    } catch {
      log.error("new/ is gone; no job files are claimed until it is back: \(error)", as: .spoolGone)
    }
  }
}
