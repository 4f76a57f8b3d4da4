import CLinux
package import Dispatch
import Glibc
import Synchronization

/// Reports files that appear in any of several directories, through one inotify instance; free while nothing happens.
///
/// A user may have few instances (`fs.inotify.max_user_instances`, often 128), but very many watches.
package final class DirectorySetWatcher: Sendable {
  /// Stands for one watched directory: the same one however often it is added.
  package struct Watch: Hashable, Sendable { fileprivate let number: Int32 }

  /// An event of one directory; nil for what concerns all of them.
  package typealias Event = (watch: Watch?, event: DirectoryEvent)

  // A dispatch source is thread-safe, its Swift type just doesn't say so.
  private nonisolated(unsafe) let source: any DispatchSourceRead
  private let instance: SharedDescriptor

  /// A set without directories.
  ///
  /// - Parameters:
  ///   - queue: Where `handler` is called.
  ///   - handler: Gets all events of one read, in order, never an empty array.
  package init(queue: DispatchQueue, handler: @escaping @Sendable ([Event]) -> Void) throws(SystemError) {
    let number = try systemCall("inotify_init1") { inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)) }
    let instance = SharedDescriptor(FileDescriptor(owning: number))
    let source = DispatchSource.makeReadSource(fileDescriptor: number, queue: queue)
    // The source keeps itself until it is cancelled, which drops its handlers.
    source.setEventHandler {
      let events = Self.read(instance.descriptor)
      // A descriptor that can't be read would be ready for ever.
      if events.contains(where: { $0.event.isFailure }) { source.cancel() }
      if !events.isEmpty { handler(events) }
    }
    // Holds the descriptor until the source no longer uses it.
    source.setCancelHandler { withExtendedLifetime(instance) {} }
    source.activate()
    self.source = source
    self.instance = instance
  }

  deinit {
    source.cancel()
  }

  /// Starts watching a directory; scan it after this returns, or what was there before is missed.
  ///
  /// - Parameters:
  ///   - directory: Watched itself, whatever happens to its path; it need not stay open.
  ///   - tellsCreation: True if entries are reported when they are created, besides when they are finished.
  ///   - tellsDeletion: True if entries are reported when they are deleted.
  /// - Returns: The watch that its events carry.
  /// - Throws: ``SystemError``; ENOSPC means that `fs.inotify.max_user_watches` is used up.
  package func add(
    _ directory: Directory, tellsCreation: Bool, tellsDeletion: Bool = false
  ) throws(SystemError) -> Watch {
    var mask = UInt32(IN_MOVED_TO) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVE_SELF) | UInt32(IN_ONLYDIR)
    if tellsCreation { mask |= UInt32(IN_CREATE) }
    if tellsDeletion { mask |= UInt32(IN_DELETE) }
    let entry = "/proc/self/fd/\(directory.descriptor.number)"
    let number = instance.descriptor.number
    return Watch(
      number: try systemCall("inotify_add_watch", directory.path) { inotify_add_watch(number, entry, mask) })
  }

  /// Stops watching a directory; ``DirectoryEvent/RescanReason/watchRemoved`` follows. Does nothing if it is gone.
  package func remove(_ watch: Watch) { _ = inotify_rm_watch(instance.descriptor.number, watch.number) }

  /// Stops watching; a batch already on its way may still arrive unless this is called on the handler's queue. Safe to repeat.
  package func stop() {
    source.cancel()
  }

  private static func read(_ descriptor: borrowing FileDescriptor) -> [Event] {
    // Holds some hundred events; the source fires again while there are more.
    withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
      do throws(SystemError) {
        let count = try descriptor.read(into: buffer)
        return parse(UnsafeRawBufferPointer(rebasing: buffer.prefix(count)))
      } catch  where error.code == .wouldBlock {
        return []
      } catch {
        return [(nil, .rescan(.failed(errno: error.code.rawValue)))]
      }
    }
  }

  /// Reads the records that inotify(7) packs into one buffer; a record that doesn't fit ends in a rescan.
  package static func parse(_ buffer: UnsafeRawBufferPointer) -> [Event] {
    var events: [Event] = []
    let headerSize = MemoryLayout<inotify_event>.size
    var rest = buffer[...]
    while !rest.isEmpty {
      guard rest.count >= headerSize else { return events + [(nil, .rescan(.failed(errno: EBADMSG)))] }
      let header = UnsafeRawBufferPointer(rebasing: rest.prefix(headerSize))
      let watch = header.loadUnaligned(fromByteOffset: 0, as: Int32.self)
      let mask = header.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
      let nameSize = Int(header.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
      rest = rest.dropFirst(headerSize)
      guard nameSize <= rest.count else { return events + [(nil, .rescan(.failed(errno: EBADMSG)))] }
      // The name is padded with zero bytes.
      let name = FileName(bytes: rest.prefix(nameSize))
      // An overflow belongs to no watch.
      let source = watch < 0 ? nil : Watch(number: watch)
      if let event = DirectoryEvent(mask: mask, name: name) { events.append((source, event)) }
      rest = rest.dropFirst(nameSize)
    }
    return events
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
  /// True if no event of any directory follows.
  fileprivate var isFailure: Bool {
    if case .rescan(.failed) = self { true } else { false }
  }
}
