import CLinux
import Dispatch
import Glibc
import Synchronization
import SystemSupport

/// Tells of every entry that comes to folders or leaves them, and of every write to a file in them.
package final class FolderWatch: Sendable {
  package enum Kind: Sendable { case came, left, changed }

  // A dispatch source is thread-safe, its Swift type just doesn't say so.
  private nonisolated(unsafe) let source: any DispatchSourceRead
  private let came: Atomic<Int>
  private let left: Atomic<Int>
  private let changed: Atomic<Int>

  /// How many entries came to the folders since this was made, how many left, and how often they were written to.
  package var counts: (came: Int, left: Int, changed: Int) {
    (came.load(ordering: .relaxed), left.load(ordering: .relaxed), changed.load(ordering: .relaxed))
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
    source = DispatchSource.makeReadSource(fileDescriptor: number, queue: DispatchQueue(label: "watch"))
    came = Atomic(0)
    left = Atomic(0)
    changed = Atomic(0)
    source.setEventHandler { [weak self] in
      self?.count(Self.read(number))
      handler()
    }
    source.setCancelHandler { close(number) }
    source.activate()
  }

  deinit { source.cancel() }

  private func count(_ kinds: [Kind]) {
    came.add(kinds.count { $0 == .came }, ordering: .relaxed)
    left.add(kinds.count { $0 == .left }, ordering: .relaxed)
    changed.add(kinds.count { $0 == .changed }, ordering: .relaxed)
  }

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
