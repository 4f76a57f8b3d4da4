internal import CMicroHTTPD
import Foundation

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
      // The announced length was checked, and no other way of sending a body is accepted.
      guard let bytes, count.pointee <= core.limits.bodyBytes - exchange.body.count else { return .NO }
      exchange.body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count.pointee))
      count.pointee = 0
      return .YES
    case .receiving:
      return core.handle(exchange, on: handle)
    case .suspended:
      return core.takeAnswer(exchange.id).map { core.send($0, for: exchange, on: handle) } ?? .NO
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
