import CLinux
import Foundation
import Glibc
import Synchronization

/// The one thread that waits for descriptors of short life, each until it is readable, writable or hung up, once.
///
/// Dispatch's sources would do, if they could be made and cancelled often: on Linux their records of descriptors are
/// sometimes used after they were freed (swift-corelibs-libdispatch, issue 949), which ends the process.
package final class ReadinessThread: Sendable {
  /// Stands for one wait, and for no other in the life of this process.
  package struct Wait: Hashable, Sendable {
    fileprivate let token: UInt64
  }

  private struct Entry {
    let descriptor: Int32
    let call: @Sendable () -> Void
  }

  private struct State {
    var lastToken: UInt64 = 0
    var entries: [UInt64: Entry] = [:]
  }

  package static let shared = ReadinessThread()

  /// The epoll descriptor, or the error that every wait then throws.
  private let epoll: Result<Int32, SystemError>
  private let state = Mutex(State())

  private init() {
    epoll = Result { () throws(SystemError) in
      try systemCall("epoll_create1") { epoll_create1(O_CLOEXEC) }
    }
    guard case .success(let epoll) = epoll else { return }
    let thread = Thread { [self] in
      while true { deliver(epoll) }
    }
    thread.name = "descriptors"
    thread.start()
  }

  /// Calls back once, on this thread, when a descriptor can be read from or its other end is closed.
  ///
  /// The descriptor must stay open until the call has come, or the wait was cancelled; it has one wait at a time. The
  /// call must be quick.
  @discardableResult
  package func whenReadable(_ descriptor: Int32, _ call: @escaping @Sendable () -> Void) throws(SystemError) -> Wait {
    try wait(for: descriptor, EPOLLIN.rawValue, call)
  }

  /// Calls back once, on this thread, when a descriptor can be written to or its other end is closed.
  ///
  /// The conditions are those of ``whenReadable(_:_:)``: who waits for both has a duplicate.
  @discardableResult
  package func whenWritable(_ descriptor: Int32, _ call: @escaping @Sendable () -> Void) throws(SystemError) -> Wait {
    try wait(for: descriptor, EPOLLOUT.rawValue, call)
  }

  /// Calls back once, on this thread, when a Unix socket's other end is closed, whatever can still be read; a client that
  /// has only ended its sending is still there.
  ///
  /// The conditions are those of ``whenReadable(_:_:)``.
  package func whenHungUp(_ descriptor: Int32, _ call: @escaping @Sendable () -> Void) throws(SystemError) -> Wait {
    try wait(for: descriptor, 0, call)
  }

  private func wait(
    for descriptor: Int32, _ events: UInt32, _ call: @escaping @Sendable () -> Void
  ) throws(SystemError) -> Wait {
    let epoll = try epoll.get()
    let added = state.withLock { state -> Result<Wait, SystemError> in
      state.lastToken += 1
      let token = state.lastToken
      return Result { () throws(SystemError) in
        try systemCall("epoll_ctl", FileDescriptor.subject(of: descriptor)) {
          linux_epoll_add_once(epoll, descriptor, events, token)
        }
        state.entries[token] = Entry(descriptor: descriptor, call: call)
        return Wait(token: token)
      }
    }
    return try added.get()
  }

  /// Cancels a wait.
  ///
  /// - Returns: False if the call has come or is about to.
  package func cancel(_ wait: Wait) -> Bool { remove(wait.token) != nil }

  private func deliver(_ epoll: Int32) {
    var tokens = [UInt64](repeating: 0, count: 64)
    let count: Int32
    do { count = try systemCall("epoll_wait") { linux_epoll_wait(epoll, &tokens) } } catch {
      preconditionFailure("a valid epoll descriptor can't be waited for: \(error)")
    }
    for token in tokens.prefix(Int(count)) { remove(token)?.call() }
  }

  /// Removes a wait; nil if it is gone already.
  private func remove(_ token: UInt64) -> Entry? {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: token) else { return nil }
      // Under the lock, so that its owner has not closed it.
      if case .success(let epoll) = epoll { _ = linux_epoll_remove(epoll, entry.descriptor) }
      return entry
    }
  }
}
