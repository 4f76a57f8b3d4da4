import CLinux
package import Dispatch
import Glibc

/// Reports files that appear in one directory; see ``DirectorySetWatcher`` for several.
///
/// The deletion of a directory is noticed only when nobody, this process included, has it open any more.
package final class DirectoryWatcher: Sendable {
  private let watcher: DirectorySetWatcher

  /// Starts watching; scan the directory after this returns, or what was there before is missed.
  ///
  /// - Parameters:
  ///   - directory: Watched itself, whatever happens to its path.
  ///   - queue: Where `handler` is called.
  ///   - tellsCreation: True if entries are reported when they are created, besides when they are finished.
  ///   - tellsDeletion: True if entries are reported when they are deleted.
  ///   - handler: Gets all events of one read, in order, never an empty array.
  /// - Throws: ``SystemError``; ENOSPC means that `fs.inotify.max_user_watches` is used up.
  package init(
    _ directory: Directory, queue: DispatchQueue, tellsCreation: Bool = false, tellsDeletion: Bool = false,
    handler: @escaping @Sendable ([DirectoryEvent]) -> Void
  ) throws(SystemError) {
    watcher = try DirectorySetWatcher(queue: queue) { handler($0.map(\.event)) }
    _ = try watcher.add(directory, tellsCreation: tellsCreation, tellsDeletion: tellsDeletion)
  }

  /// Stops watching; a batch already on its way may still arrive unless this is called on the handler's queue. Safe to repeat.
  package func stop() { watcher.stop() }
}

/// An event of a ``DirectoryWatcher``. Events are hints, a scan is the truth.
package enum DirectoryEvent: Hashable, Sendable {
  /// An entry of this name has appeared by renaming, or has been closed after writing; it may be gone again.
  case entry(FileName)
  /// An entry of this name was made here: a folder, a link, a FIFO; or a file, which is not finished yet.
  case created(FileName)
  /// The entry of this name was deleted; there may be another by now.
  case deleted(FileName)
  /// Events may be lost: scan the directory.
  case rescan(RescanReason)

  package enum RescanReason: Hashable, Sendable {
    /// More happened than the kernel keeps.
    case overflow
    /// The directory or the watch was removed; nothing more will come.
    case watchRemoved
    /// Its file system was unmounted; ``watchRemoved`` follows.
    case unmounted
    /// The directory itself has been moved; it is still watched, but its path may lead elsewhere.
    case directoryMoved
    /// The read failed with this errno, or the kernel's records were malformed; nothing more will come.
    case failed(errno: Int32)
  }
}

extension DirectoryEvent {
  /// The meaning of one record of inotify(7); nil if it concerns nobody.
  init?(mask: UInt32, name: FileName) {
    if mask & UInt32(IN_Q_OVERFLOW) != 0 {
      self = .rescan(.overflow)
    } else if mask & UInt32(IN_UNMOUNT) != 0 {
      self = .rescan(.unmounted)
    } else if mask & UInt32(IN_IGNORED) != 0 {
      self = .rescan(.watchRemoved)
    } else if mask & UInt32(IN_MOVE_SELF) != 0 {
      self = .rescan(.directoryMoved)
    } else if name.bytes.isEmpty {
      return nil
    } else {
      self =
        mask & UInt32(IN_CREATE) != 0 ? .created(name) : mask & UInt32(IN_DELETE) != 0 ? .deleted(name) : .entry(name)
    }
  }
}
