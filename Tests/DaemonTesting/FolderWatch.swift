import CLinux
import Glibc
import Synchronization
import SystemSupport

/// Tells of every entry that comes to folders or leaves them, and of every write to a file in them.
package final class FolderWatch: Sendable {
  package enum Kind: Sendable { case came, left, changed }

  private let source: ReadableDescriptor
  private let counters: Counters

  /// How many entries came to the folders since this was made, how many left, and how often they were written to.
  package var counts: (came: Int, left: Int, changed: Int) {
    counters.values
  }

  package init(_ paths: [String], handler: @escaping @Sendable () -> Void) throws {
    let number = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard number >= 0 else { throw SystemError(.init(rawValue: errno), call: "inotify_init1") }
    let mask = UInt32(IN_MOVED_TO | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_DELETE | IN_MODIFY)
    for path in paths {
      guard inotify_add_watch(number, path, mask) >= 0 else {
        throw SystemError(.init(rawValue: errno), call: "inotify_add_watch", subject: path)
      }
    }
    let counters = Counters()
    self.counters = counters
    source = ReadableDescriptor(number) { number in
      counters.count(Self.read(number))
      handler()
      return true
    }
  }

  deinit { source.cancel() }

  private static func read(_ number: Int32) -> [Kind] {
    withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
      let count = Glibc.read(number, buffer.baseAddress, buffer.count)
      var kinds: [Kind] = []
      var offset = 0
      while offset < count {
        let event = buffer.load(fromByteOffset: offset, as: inotify_event.self)
        let isLeaving = event.mask & UInt32(IN_MOVED_FROM | IN_DELETE) != 0
        kinds.append(isLeaving ? .left : event.mask & UInt32(IN_MODIFY) != 0 ? .changed : .came)
        offset += MemoryLayout<inotify_event>.size + Int(event.len)
      }
      return kinds
    }
  }
}

/// How much has happened.
private final class Counters: Sendable {
  private let came = Atomic(0)
  private let left = Atomic(0)
  private let changed = Atomic(0)

  var values: (came: Int, left: Int, changed: Int) {
    (came.load(ordering: .relaxed), left.load(ordering: .relaxed), changed.load(ordering: .relaxed))
  }

  func count(_ kinds: [FolderWatch.Kind]) {
    came.add(kinds.count { $0 == .came }, ordering: .relaxed)
    left.add(kinds.count { $0 == .left }, ordering: .relaxed)
    changed.add(kinds.count { $0 == .changed }, ordering: .relaxed)
  }
}
