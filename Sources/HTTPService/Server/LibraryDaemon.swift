internal import CMicroHTTPD
import SystemSupport

/// The library's daemon: a thread with its own epoll set, which serves the connections it is given.
///
/// It has no listening socket, so stopping it can't shut down one that belongs to systemd. Its own inactivity timeout is
/// off, since it starts again with each byte; ours are absolute.
final class LibraryDaemon: Sendable {
  // The library locks what may be called from several threads, which is all that is called here.
  private nonisolated(unsafe) let handle: OpaquePointer
  private let core: Unmanaged<ServerCore>

  init(core: ServerCore) throws(HTTPServiceError) {
    let retained = Unmanaged.passRetained(core)
    let context = retained.toOpaque()
    let flags = [MHD_USE_EPOLL_INTERNAL_THREAD, MHD_USE_NO_LISTEN_SOCKET, MHD_USE_ITC, MHD_ALLOW_SUSPEND_RESUME]
    let options = [
      cmhd_log_uri(LibraryCallbacks.target, context),
      cmhd_unescape(LibraryCallbacks.unescape, nil),
      cmhd_notify_completed(LibraryCallbacks.completed, context),
      cmhd_notify_connection(LibraryCallbacks.connection, context),
      // Our table counts; the library lags behind it for a moment when connections end.
      MHD_OptionItem(option: .CONNECTION_LIMIT, value: core.limits.connections + 64, ptr_value: nil),
      MHD_OptionItem(option: .CONNECTION_TIMEOUT, value: 0, ptr_value: nil),
      MHD_OptionItem(option: .CONNECTION_MEMORY_LIMIT, value: core.limits.headerBytes, ptr_value: nil),
      // Refuses what lenient parsers read differently from a proxy.
      MHD_OptionItem(option: .STRICT_FOR_CLIENT, value: 1, ptr_value: nil),
      MHD_OptionItem(option: .END, value: 0, ptr_value: nil),
    ]
    let started = cmhd_start_daemon(
      flags.reduce(0) { $0 | UInt32($1.rawValue) }, LibraryCallbacks.access, context, options)
    guard let started else {
      retained.release()
      throw HTTPServiceError(
        .libraryFailed, message: "The HTTP server's thread could not be started; memory or descriptors are exhausted")
    }
    handle = started
    self.core = retained
  }

  /// Hands over a connected, non-blocking socket; the library closes it in any case.
  func add(_ client: consuming FileDescriptor, address: sockaddr_storage, length: socklen_t) -> Bool {
    let number = client.take()
    return withUnsafePointer(to: address) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        MHD_add_connection(handle, number, $0, length) == .YES
      }
    }
  }

  /// Ends the thread and closes all connections; called once, when none is suspended and none is added any more.
  func stop() {
    MHD_stop_daemon(handle)
    core.release()
  }
}
