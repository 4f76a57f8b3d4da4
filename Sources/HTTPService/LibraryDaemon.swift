internal import CMicroHTTPD
import Foundation
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
        .libraryFailed, message: "the HTTP server's thread can't be started; memory or descriptors are exhausted")
    }
    handle = started
    self.core = retained
  }

  /// Hands over a connected, non-blocking socket; the library closes it in any case.
  func add(_ client: consuming FileDescriptor, address: sockaddr_storage, length: socklen_t) -> Bool {
    let number = client.relinquish()
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

/// The functions the library calls, all on its one thread.
///
/// A connection's context is its number in the table, as a pointer's bits; a request's is its retained `Exchange`.
enum LibraryCallbacks {
  /// A connection begins or has ended.
  static let connection: MHD_NotifyConnectionCallback = { context, handle, slot, event in
    guard let core = core(context), let handle, let slot else { return }
    if event == .CONNECTION_NOTIFY_STARTED {
      let id = core.begin(descriptor: cmhd_connection_descriptor(handle))
      slot.pointee = id.flatMap { UnsafeMutableRawPointer(bitPattern: UInt($0)) }
    } else if let id = slot.pointee {
      core.remove(UInt64(UInt(bitPattern: id)))
      slot.pointee = nil
    }
  }

  /// A request line has arrived: keeps the target as it was sent, since the library would decode and split it.
  static let target:
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
      context, target, handle in
      if let core = core(context), let target, let handle, let id = connectionID(handle) {
        core.setTarget(String(cString: target), of: id)
      }
      return nil
    }

  /// Leaves escapes alone: the target is decoded here, component by component.
  static let unescape: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<CChar>?) -> Int =
    { _, _, text in
      text.map { strlen($0) } ?? 0
    }

  /// Called when the header is complete, for each piece of the body, at its end, and again after a suspension.
  static let access: MHD_AccessHandlerCallback = { context, handle, _, method, version, bytes, count, slot in
    guard let core = core(context), let handle, let method, let version, let count, let slot else { return .NO }
    guard let retained = slot.pointee else {
      guard let id = connectionID(handle) else { return .NO }
      let exchange = Exchange(
        id: core.nextExchange(), connection: id, method: HTTPMethod(rawValue: String(cString: method)),
        headers: headers(of: handle))
      slot.pointee = Unmanaged.passRetained(exchange).toOpaque()
      guard let refusal = core.refusal(of: exchange, version: String(cString: version)) else { return .YES }
      core.expectUnreadBody(on: id)
      return core.send(refusal, for: exchange, on: handle)
    }
    let exchange = Unmanaged<Exchange>.fromOpaque(retained).takeUnretainedValue()
    switch exchange.phase {
    case .receiving where count.pointee > 0:
      let piece = UnsafeRawBufferPointer(start: bytes, count: count.pointee)
      guard bytes != nil, core.take(piece, of: exchange, on: handle) else { return .NO }
      count.pointee = 0
      return .YES
    case .receiving:
      return core.handle(exchange, on: handle)
    case .suspended:
      cmhd_set_early_look(handle, false)
      return core.removeAnswer(exchange.id).map { core.send($0, for: exchange, on: handle) } ?? .NO
    case .answered:
      return .YES
    }
  }

  /// A request's reply was sent, or will never be.
  static let completed: MHD_RequestCompletedCallback = { context, _, slot, _ in
    guard let core = core(context), let slot, let retained = slot.pointee else { return }
    slot.pointee = nil
    core.finish(Unmanaged<Exchange>.fromOpaque(retained).takeRetainedValue())
  }

  private static func core(_ context: UnsafeMutableRawPointer?) -> ServerCore? {
    context.map { Unmanaged<ServerCore>.fromOpaque($0).takeUnretainedValue() }
  }

  private static func connectionID(_ handle: OpaquePointer) -> UInt64? {
    cmhd_socket_context(handle).map { UInt64(UInt(bitPattern: $0)) }
  }

  /// Copies the header fields; bytes that aren't UTF-8 become replacement characters.
  private static func headers(of handle: OpaquePointer) -> HTTPHeaders {
    var headers = HTTPHeaders()
    withUnsafeMutablePointer(to: &headers) { pointer in
      _ = MHD_get_connection_values(
        handle, .HEADER_KIND,
        { context, _, name, value in
          guard let headers = context?.assumingMemoryBound(to: HTTPHeaders.self) else { return .NO }
          headers.pointee.add(name.map { String(cString: $0) } ?? "", value.map { String(cString: $0) } ?? "")
          return .YES
        }, pointer)
    }
    return headers
  }
}
