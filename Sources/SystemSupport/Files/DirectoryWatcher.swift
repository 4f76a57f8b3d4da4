import CLinux
package import Dispatch
import Glibc

/// Reports files that appear in one directory, through inotify; free while nothing happens.
///
/// The deletion of a directory is noticed only when nobody, this process included, has it open any more.
package final class DirectoryWatcher: Sendable {
  // A dispatch source is thread-safe, its Swift type just doesn't say so.
  private nonisolated(unsafe) let source: any DispatchSourceRead

  /// Starts watching; scan the directory after this returns, or what was there before is missed.
  ///
  /// - Parameters:
  ///   - directory: Watched itself, whatever happens to its path.
  ///   - queue: Where `handler` is called.
  ///   - tellsCreation: True if entries are reported when they are created, besides when they are finished.
  ///   - handler: Gets all events of one read, in order, never an empty array.
  /// - Throws: ``SystemError``; ENOSPC means that `fs.inotify.max_user_watches` is used up.
  package init(
    _ directory: Directory, queue: DispatchQueue, tellsCreation: Bool = false,
    handler: @escaping @Sendable ([DirectoryEvent]) -> Void
  ) throws(SystemError) {
    let number = try systemCall("inotify_init1") { inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)) }
    let queueOfEvents = SharedDescriptor(FileDescriptor(owning: number))
    var mask = UInt32(IN_MOVED_TO) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVE_SELF) | UInt32(IN_ONLYDIR)
    if tellsCreation { mask |= UInt32(IN_CREATE) }
    let entry = "/proc/self/fd/\(directory.descriptor.number)"
    try systemCall("inotify_add_watch", directory.path) { inotify_add_watch(number, entry, mask) }

    let source = DispatchSource.makeReadSource(fileDescriptor: number, queue: queue)
    // The source keeps itself until it is cancelled, which drops its handlers.
    source.setEventHandler {
      let events = Self.read(queueOfEvents.descriptor)
      if events.contains(where: \.isLast) { source.cancel() }
      if !events.isEmpty { handler(events) }
    }
    // Holds the descriptor until the source no longer uses it.
    source.setCancelHandler { withExtendedLifetime(queueOfEvents) {} }
    source.activate()
    self.source = source
  }

  deinit {
    source.cancel()
  }

  /// Stops watching; a batch already on its way may still arrive unless this is called on the handler's queue. Safe to repeat.
  package func stop() {
    source.cancel()
  }

  private static func read(_ descriptor: borrowing FileDescriptor) -> [DirectoryEvent] {
    // Holds some hundred events; the source fires again while there are more.
    withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
      do throws(SystemError) {
        let count = try descriptor.read(into: buffer)
        return DirectoryEvent.parse(UnsafeRawBufferPointer(rebasing: buffer.prefix(count)))
      } catch  where error.code == .wouldBlock {
        return []
      } catch {
        return [.rescan(.failed(errno: error.code.rawValue))]
      }
    }
  }
}

/// A descriptor that a closure can share.
private final class SharedDescriptor: Sendable {
  let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }
}

extension DirectoryEvent {
  /// True if no event follows.
  fileprivate var isLast: Bool {
    switch self {
    case .rescan(.watchRemoved), .rescan(.failed): true
    default: false
    }
  }
}

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

extension DirectoryEvent {
  /// Reads the records that inotify(7) packs into one buffer; a record that doesn't fit ends in a rescan.
  package static func parse(_ buffer: UnsafeRawBufferPointer) -> [DirectoryEvent] {
    var events: [DirectoryEvent] = []
    let headerSize = MemoryLayout<inotify_event>.size
    var rest = buffer[...]
    while !rest.isEmpty {
      guard rest.count >= headerSize else { return events + [.rescan(.failed(errno: EBADMSG))] }
      let header = UnsafeRawBufferPointer(rebasing: rest.prefix(headerSize))
      let mask = header.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
      let nameSize = Int(header.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
      rest = rest.dropFirst(headerSize)
      guard nameSize <= rest.count else { return events + [.rescan(.failed(errno: EBADMSG))] }
      // The name is padded with zero bytes.
      if let event = event(mask: mask, name: FileName(bytes: rest.prefix(nameSize))) { events.append(event) }
      rest = rest.dropFirst(nameSize)
    }
    return events
  }

  private static func event(mask: UInt32, name: FileName) -> DirectoryEvent? {
    if mask & UInt32(IN_Q_OVERFLOW) != 0 { return .rescan(.overflow) }
    if mask & UInt32(IN_UNMOUNT) != 0 { return .rescan(.unmounted) }
    if mask & UInt32(IN_IGNORED) != 0 { return .rescan(.watchRemoved) }
    if mask & UInt32(IN_MOVE_SELF) != 0 { return .rescan(.directoryMoved) }
    if name.bytes.isEmpty { return nil }
    return mask & UInt32(IN_CREATE) != 0 ? .created(name) : .entry(name)
  }
}
