import DaemonTesting
import Foundation
import Glibc
import JSONText
import Synchronization
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Events over HTTP")
  struct Events {
    struct Event: Sendable {
      var id = ""
      var kind = ""
      var data = JSONValue.null
    }

    /// A client of `/v1/events`.
    private final class Reader: Sendable {
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

    @Test("Readers see jobs come, run and end as lists show them, by their filters, and go on where they were")
    func jobs() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      let all = try Reader(daemon)
      #expect(try await all.events { $0.kind == "status" }.first?.data["jobs"]?["available"] == .integer(0))
      let held = try Reader(daemon, query: "?queue=slow&state=available")
      let one = try Reader(daemon, query: "?id=second")
      for reader in [held, one] { _ = try await reader.events { $0.kind == "status" } }
      _ = try await daemon.request("POST", "/v1/pause", body: #"{"queue": "slow"}"#)
      #expect(try await all.events { $0.kind == "status" && $0.data["pauses"]?.array?.count == 1 }.isEmpty == false)
      _ = try await daemon.submit(#"{"id": "first", "type": "noop"}"#)
      let ended = try await all.events { $0.kind == "job" && $0.data["state"]?.string == "completed" }
      let listed = try await daemon.get("/v1/jobs")["jobs"]?.array?.first
      let keys = Set(try #require(listed?.object).map(\.key))
      #expect(ended.last?.data["id"]?.string == "first")
      #expect(Set(try #require(ended.last?.data.object).map(\.key)) == keys)

      _ = try await daemon.request("POST", "/v1/jobs", body: #"{"id": "second", "type": "noop", "queue": "slow"}"#)
      let shown = try await held.events { $0.kind == "job" }
      #expect(shown.last?.data["id"]?.string == "second" && shown.last?.data["state"]?.string == "available")
      let mark = try #require(try await one.events { $0.kind == "job" }.last)
      #expect(mark.data["id"]?.string == "second")
      _ = try await daemon.request("POST", "/v1/resume", body: #"{"queue": "slow"}"#)
      let gone = try await held.events { $0.kind == "removed" }
      #expect(gone.last?.data == .object(["id": .string("second")]))

      // Whoever comes back misses nothing, whoever comes from another run or from nowhere is told so.
      let again = try Reader(daemon, query: "?id=second", lastID: mark.id)
      let missed = try await again.events { $0.kind == "job" && $0.data["state"]?.string == "completed" }
      #expect(!missed.contains { $0.kind == "reset" })
      let stranger = try Reader(daemon, lastID: "other-12")
      #expect(try await stranger.events { $0.kind == "reset" }.last?.data["reason"]?.string == "restarted")
      _ = try await daemon.request("POST", "/v1/commands", body: #"{"command": "delete", "jobs": ["first"]}"#)
      #expect(try await all.events { $0.kind == "removed" }.last?.data["id"]?.string == "first")
      let wrong = try await daemon.request("GET", "/v1/events", query: ["state": "sleeping"])
      #expect(wrong.status == 400)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Very many jobs are few events and a call to read anew, from which one job's reader is spared")
    func many() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      let (all, one) = (try Reader(daemon), try Reader(daemon, query: "?id=j777"))
      for reader in [all, one] { _ = try await reader.events { $0.kind == "status" } }
      let jobs = (0..<2_000).map { #"{"id": "j\#($0)", "type": "noop"}"# }
      _ = try await daemon.submit(#"{"jobs": [\#(jobs.joined(separator: ","))]}"#)
      let seen = try await all.events { $0.kind == "reset" }
      #expect(seen.last?.data["reason"]?.string == "too-many" && seen.count < 500)
      let own = try await one.events { $0.kind == "job" && $0.data["state"]?.string == "completed" }
      #expect(own.allSatisfy { $0.kind == "status" || $0.data["id"]?.string == "j777" })
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("The progress of a running job is told as it goes, and its end to whoever follows running jobs")
    func progress() async throws {
      let root = try DaemonRoot()
      let (script, gate) = (root.directory.path("slow.sh"), root.directory.path("gate"))
      try #require(mkfifo(gate, 0o600) == 0)
      // Each line that comes through the pipe is a step.
      try root.write(
        """
        while read step; do echo '{"progress": {"done": '$step', "total": 10, "unit": "pages"}}'; done <"\(gate)"
        """, to: script)
      try root.write(
        "[Handler]\nType=slow\nExecStart=/bin/sh \(script)\n", to: root.paths.handlers + "/slow.conf")
      let daemon = try await DaemonProcess.ready(root)
      let reader = try Reader(daemon, query: "?state=running&type=slow")
      _ = try await reader.events { $0.kind == "status" }
      _ = try await daemon.request("POST", "/v1/jobs", body: #"{"id": "film", "type": "slow"}"#)
      let started = try await reader.events { $0.kind == "job" }
      #expect(started.last?.data["id"]?.string == "film" && started.last?.data["state"]?.string == "running")
      let pipe = try await onThread { Glibc.open(gate, O_WRONLY | O_CLOEXEC) }
      try #require(pipe >= 0)
      let steps = FileDescriptor(owning: pipe)
      for step in 3...4 {
        try steps.writeAll(Data("\(step)\n".utf8))
        let told = try await reader.events { $0.data["progress"]?["done"] == .integer(Int64(step)) }
        #expect(told.last?.data["progress"]?["unit"]?.string == "pages")
      }
      _ = consume steps
      #expect(try await reader.events { $0.kind == "removed" }.last?.data["id"]?.string == "film")
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }
}
