internal import CMicroHTTPD
import Foundation
import SystemSupport

/// A response's body that comes bit by bit, for as long as its client stays.
///
/// Nothing is kept for a slow client but what the system's buffers hold: the source is asked only when there is room, and
/// decides itself what it still has. A client that reads nothing for the limits' `requestTimeout`, though there is
/// something, is cut off.
package protocol HTTPBodySource: AnyObject, Sendable {
  /// True of a document, which counts only as a whole: a stop of the server breaks it off rather than ending it, and its
  /// client may take its time.
  var isDocument: Bool { get }

  /// Begins the stream; called once, on the server's thread.
  func begin(_ stream: HTTPStream)

  /// Copies what comes next into a buffer; called on the server's thread, so it must not wait.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> HTTPBodyPart

  /// Notes that the client has left, or has been sent the end; called once, on the server's thread.
  func end()
}

extension HTTPBodySource {
  package var isDocument: Bool { false }
}

/// The answer of a source that is asked for bytes.
package enum HTTPBodyPart: Sendable, Equatable {
  /// So many bytes, at least one.
  case bytes(Int)
  /// Nothing until ``HTTPStream/wake()`` is called.
  case nothingYet
  case end
  /// The end before the end: the connection is closed so that the client notices.
  case brokenOff
}

/// The server's side of a stream.
package final class HTTPStream: Sendable {
  private let exchange: UInt64
  private let core: ServerCore

  init(exchange: UInt64, core: ServerCore) {
    self.exchange = exchange
    self.core = core
  }

  /// Has the source asked again; from any thread, and without effect once the stream has ended.
  package func wake() { core.wakeStream(exchange) }
}

/// A stream as the server's table has it.
///
/// `@unchecked Sendable`: the pointer is used only under the table's lock while the connection is suspended, which it is
/// whenever its source has nothing.
struct OpenStream: @unchecked Sendable {
  /// The fate of a stream when its source is to be asked.
  enum State { case open, ending, cut }

  let handle: OpaquePointer
  let source: any HTTPBodySource
  var isSuspended = false
  /// True if its source has something since it was asked.
  var isWoken = false
  /// True if its client has left.
  var isCut = false
  var watch: ReadinessThread.Wait?
}

/// A stream as the library's callbacks know it.
final class StreamedBody {
  /// The bytes that the library asks for at a time; each stream has as many.
  static let blockSize = 16 << 10
  private static let endOfStream = -1
  private static let endWithError = -2

  let exchange: UInt64
  let connection: UInt64
  let handle: OpaquePointer
  let source: any HTTPBodySource
  private let core: ServerCore

  init(_ source: any HTTPBodySource, of exchange: Exchange, on handle: OpaquePointer, core: ServerCore) {
    self.source = source
    self.exchange = exchange.id
    connection = exchange.connection
    self.handle = handle
    self.core = core
  }

  /// Makes the library's response; nil without memory. It owns this object from then on.
  func makeLibraryResponse() -> OpaquePointer? {
    let context = Unmanaged.passRetained(self)
    let response = MHD_create_response_from_callback(
      UInt64.max, Self.blockSize, Self.readNext, context.toOpaque(), Self.release)
    if response == nil { context.release() }
    return response
  }

  private static let readNext: MHD_ContentReaderCallback = { context, _, buffer, count in
    guard let context, let buffer else { return endWithError }
    return Unmanaged<StreamedBody>.fromOpaque(context).takeUnretainedValue().read(
      into: UnsafeMutableRawBufferPointer(start: buffer, count: count))
  }

  private static let release: MHD_ContentReaderFreeCallback = { context in
    if let context { Unmanaged<StreamedBody>.fromOpaque(context).release() }
  }

  private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    cmhd_set_early_look(handle, false)
    while true {
      switch core.streamState(exchange) {
      case .cut: return Self.endWithError
      case .ending: return source.isDocument ? Self.endWithError : Self.endOfStream
      case .open: break
      }
      switch source.read(into: buffer) {
      case .bytes(let count):
        core.noteStreamed(on: connection, isDocument: source.isDocument)
        return count
      case .end: return Self.endOfStream
      case .brokenOff: return Self.endWithError
      case .nothingYet: if core.suspendStream(self) { return 0 }
      }
    }
  }
}
