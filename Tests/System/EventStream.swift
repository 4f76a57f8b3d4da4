import DaemonTesting
import Foundation
import Glibc
import JSONText
import Synchronization
import SystemSupport
import TestSupport

/// A client of `/v1/events`.
final class EventStream: Sendable {
  struct Event: Sendable {
    var id = ""
    var kind = ""
    var data = JSONValue.null
  }

  private let socket: FileDescriptor
  private let rest = Mutex("")

  init(_ daemon: DaemonProcess, query: String = "", lastID: String? = nil) throws {
    socket = try FileDescriptor.connect(toSocketAt: daemon.root.paths.socket)
    try socket.setNonBlocking(false)
    let number = socket.number
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    try systemCall("setsockopt") {
      setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    let last = lastID.map { "Last-Event-ID: \($0)\r\n" } ?? ""
    let text = Array("GET /v1/events\(query) HTTP/1.1\r\nHost: localhost\r\n\(last)\r\n".utf8)
    try systemCall("send") { send(number, text, text.count, Int32(MSG_NOSIGNAL)) }
  }

  /// Reads up to the next event that has the look; the last of them are returned as well.
  func events(
    fileID: StaticString = #fileID, line: UInt = #line, until isLast: @escaping @Sendable (Event) -> Bool
  ) async throws -> [Event] {
    try await onThread { [self] in
      var events: [Event] = []
      while true {
        while let event = nextEvent() {
          events.append(event)
          if isLast(event) { return events }
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let number = socket.number
        let count = try systemCall("recv") { recv(number, &buffer, buffer.count, 0) }
        guard count > 0 else { throw SystemError(.brokenPipe, call: "recv", subject: "events, after \(events)") }
        let piece = String(decoding: buffer.prefix(count), as: UTF8.self)
        rest.withLock { $0 += piece }
      }
    }
  }

  private func nextEvent() -> Event? {
    rest.withLock { rest in
      // Between them lie the lengths of chunks.
      guard let match = rest.firstMatch(of: /id: (\S+)\nevent: (\w+)\ndata: ([^\n\r]*)\n\n/) else { return nil }
      let data = (try? JSONValue(parsing: Array(match.3.utf8), dialect: .json)) ?? .null
      let event = Event(id: String(match.1), kind: String(match.2), data: data)
      rest = String(rest[match.range.upperBound...])
      return event
    }
  }
}
