internal import CMicroHTTPD
import Dispatch
import Foundation
import Synchronization

/// The way of a body to its sink, which may wait for a disk: on a queue, so that nobody but its client waits with it.
final class BodyWriter: Sendable {
  private struct State {
    /// Nil once something could not be kept.
    var sink: (any HTTPBodySink)?
    /// The bytes that have come and are not in the sink yet.
    var pending = 0
    /// The number of those at which its client goes on, if it is held up.
    var mark: Int?
    /// The reply, once a part of the body could not be kept.
    var refusal: HTTPResponse?
  }

  /// The bytes on the way to a sink from which on its client is held up.
  fileprivate static let most = 128 << 10

  private let state: Mutex<State>
  private let queue: DispatchQueue
  private let goOn: @Sendable () -> Void

  /// - Parameter goOn: called on the queue when a client that is held up may go on.
  init(_ sink: any HTTPBodySink, on queue: DispatchQueue, goOn: @escaping @Sendable () -> Void) {
    state = Mutex(State(sink: sink))
    (self.queue, self.goOn) = (queue, goOn)
  }

  /// The sink, with all that was written; nil after a refusal.
  var sink: (any HTTPBodySink)? { state.withLock(\.sink) }

  /// The reply to the request, if its body can't be kept.
  var refusal: HTTPResponse? { state.withLock(\.refusal) }

  /// Has the next bytes written; drops them if an earlier part could not be kept.
  func append(_ bytes: UnsafeRawBufferPointer) {
    let piece = Data(bytes)
    let isTaken = state.withLock { state in
      if state.sink != nil { state.pending += piece.count }
      return state.sink != nil
    }
    if isTaken { queue.async { self.write(piece) } }
  }

  private func write(_ piece: Data) {
    do { try sink.map { sink in try piece.withUnsafeBytes { try sink.append($0) } } } catch {
      refuse(.failure(503, code: "storage-full", message: "the body can't be kept: \(error)"))
    }
    let goesOn = state.withLock { state in
      state.pending -= piece.count
      guard let mark = state.mark, state.pending <= mark else { return false }
      state.mark = nil
      return true
    }
    if goesOn { goOn() }
  }

  /// Gives the body up: what was taken goes at once, since a slow client must not keep the disk full until the end.
  fileprivate func refuse(_ response: HTTPResponse) {
    let dropped = state.withLock { state in
      if state.refusal == nil { state.refusal = response }
      return state.sink.take()
    }
    // Not under the lock: its end removes files.
    withExtendedLifetime(dropped) {}
  }

  /// True if more bytes than these are on the way; ``goOn`` is called then when no more than a mark are left.
  fileprivate func isBehind(by most: Int, until mark: Int) -> Bool {
    state.withLock { state in
      guard state.sink != nil, state.pending > most else { return false }
      state.mark = mark
      return true
    }
  }
}

/// The connections whose clients are held up, as the sinks of their bodies are behind.
///
/// As in ``ServerCore``, a connection is suspended and resumed under the lock: once resumed, the library may free it.
final class HeldBodies: Sendable {
  /// The fate of a connection that was to be held up.
  enum Outcome {
    case goesOn, isHeld
    /// Its sink is behind, and the server stops.
    case mayNotWait
  }

  // The pointer is used only under the lock while the connection is suspended, which keeps the library from freeing it.
  private struct Held: @unchecked Sendable {
    let handle: OpaquePointer
    let writer: BodyWriter
  }

  private struct State {
    var held: [UInt64: Held] = [:]
    var isStopping = false
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "http.bodies")

  /// Makes the writer of a connection's next body.
  func writer(to sink: any HTTPBodySink, of connection: UInt64) -> BodyWriter {
    BodyWriter(sink, on: queue) { [weak self] in self?.release(connection) }
  }

  /// Holds a client up if the sink of its body is behind; at the end of a body, if it has not got all.
  func hold(_ exchange: Exchange, on handle: OpaquePointer, atEnd isEnd: Bool) -> Outcome {
    if exchange.isHeld {
      exchange.isHeld = false
      cmhd_set_early_look(handle, false)
    }
    guard let writer = exchange.writer else { return .goesOn }
    let (most, mark) = isEnd ? (0, 0) : (BodyWriter.most, BodyWriter.most / 2)
    return state.withLock { state in
      guard writer.isBehind(by: most, until: mark) else { return .goesOn }
      if state.isStopping { return .mayNotWait }
      cmhd_set_early_look(handle, true)
      MHD_suspend_connection(handle)
      state.held[exchange.connection] = Held(handle: handle, writer: writer)
      exchange.isHeld = true
      return .isHeld
    }
  }

  /// Lets a client go on.
  private func release(_ connection: UInt64) {
    state.withLock { state in
      if let held = state.held.removeValue(forKey: connection) { MHD_resume_connection(held.handle) }
    }
  }

  /// Lets the library notice that a connection was cut, whose body is given up.
  func giveUp(_ connection: UInt64) {
    let writer = state.withLock { $0.held[connection]?.writer }
    writer?.refuse(.failure(408, code: "timeout", message: "the body was not received in time"))
    release(connection)
  }

  /// Lets all go on, and holds nobody up any more.
  func stop() {
    state.withLock { state in
      state.isStopping = true
      for held in state.held.values { MHD_resume_connection(held.handle) }
      state.held = [:]
    }
  }
}
