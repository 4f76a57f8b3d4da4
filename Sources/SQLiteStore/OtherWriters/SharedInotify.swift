import Dispatch
import Glibc
import StoreInterface
import Synchronization

/// The inotify instance of the process, since a user may have few of them.
final class SharedInotify: Sendable {
  private struct State {
    var next = 0
    /// Handlers by watch descriptor: one file has one, however often it is watched, until its first event.
    var handlers: [Int32: [Int: @Sendable () -> Void]] = [:]
  }

  /// Made when the first store is watched.
  static let shared = Result { () throws(StoreError) in try SharedInotify() }

  private let descriptor: Int32
  private let state = Mutex(State())
  // A dispatch source is thread-safe, its Swift type just doesn't say so.
  private nonisolated(unsafe) let source: any DispatchSourceRead

  private init() throws(StoreError) {
    descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    if descriptor < 0 { throw Self.error(errno, nil) }
    source = DispatchSource.makeReadSource(
      fileDescriptor: descriptor, queue: DispatchQueue(label: "ObjectGraph.FileWatch"))
    // It lives as long as the process.
    source.setEventHandler { [unowned self] in tell() }
    source.activate()
  }

  /// Calls the handler at the next write to the file, and not again.
  ///
  /// Someone who writes much would otherwise wake this process at each write, and be slowed down by it: without this, a
  /// fifth of a large save of our own.
  func add(_ path: String, _ handler: @escaping @Sendable () -> Void) throws(StoreError) -> (Int32, Int) {
    try state.withLock { state throws(StoreError) in
      let watch = inotify_add_watch(descriptor, path, UInt32(IN_MODIFY) | Self.once)
      if watch < 0 { throw Self.error(errno, path) }
      state.next += 1
      state.handlers[watch, default: [:]][state.next] = handler
      return (watch, state.next)
    }
  }

  func remove(_ watch: Int32, _ number: Int) {
    state.withLock { state in
      state.handlers[watch]?[number] = nil
      if state.handlers[watch]?.isEmpty == true {
        state.handlers[watch] = nil
        // One that is gone already, with its file, needs no removing.
        inotify_rm_watch(descriptor, watch)
      }
    }
  }

  // IN_ONESHOT is 1 << 31, whose type in Swift depends on the header.
  private static let once = UInt32(truncatingIfNeeded: IN_ONESHOT)

  private static func error(_ code: Int32, _ path: String?) -> StoreError {
    StoreError(
      .cannotOpen,
      "commits of others can't be noticed: \(String(cString: strerror(code))); raise fs.inotify.max_user_instances or "
        + "max_user_watches, or set SQLiteStoreOptions.noticesOtherWriters to false", path: path)
  }

  private func tell() {
    var watches: Set<Int32> = []
    var hasOverflown = false
    withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
      // An interrupted or failed read is tried again at the next event.
      let count = read(descriptor, buffer.baseAddress, buffer.count)
      var offset = 0
      while offset + MemoryLayout<inotify_event>.size <= count {
        let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { hasOverflown = true }
        watches.insert(event.wd)
        offset += MemoryLayout<inotify_event>.size + Int(event.len)
      }
    }
    let handlers = state.withLock { state in
      // When events were lost, whose they were is not known. Their watches may be there still, and are found when the
      // file is watched again.
      let told = hasOverflown ? Array(state.handlers.keys) : Array(watches)
      return told.flatMap { state.handlers.removeValue(forKey: $0).map { Array($0.values) } ?? [] }
    }
    for handler in handlers { handler() }
  }
}

/// Calls back at the next write to a file, by whomever, unless it is dropped before. It costs nothing until then.
final class FileWatch: Sendable {
  private let inotify: SharedInotify
  private let descriptor: Int32
  private let number: Int

  /// - Parameter handler: is called on a queue of all watches, and must be quick.
  init(_ path: String, _ handler: @escaping @Sendable () -> Void) throws(StoreError) {
    inotify = try SharedInotify.shared.get()
    (descriptor, number) = try inotify.add(path, handler)
  }

  deinit { inotify.remove(descriptor, number) }
}
