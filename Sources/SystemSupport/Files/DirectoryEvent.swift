/// An event of a ``DirectoryWatcher``. Events are hints, a scan is the truth.
package enum DirectoryEvent: Hashable, Sendable {
  /// An entry of this name has appeared by renaming, or has been closed after writing; it may be gone again.
  case entry(FileName)
  /// An entry of this name was made here: a folder, a link, a FIFO; or a file, which is not finished yet.
  case created(FileName)
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
