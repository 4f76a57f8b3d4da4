import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Events over HTTP")
  struct Events {
    @Test("Readers see jobs come, run and end as lists show them, by their filters, and go on where they were")
    func jobs() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      let all = try EventStream(daemon)
      #expect(try await all.events { $0.kind == "status" }.first?.data["jobs"]?["available"] == .integer(0))
      let held = try EventStream(daemon, query: "?queue=slow&state=available")
      let one = try EventStream(daemon, query: "?id=second")
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
      let again = try EventStream(daemon, query: "?id=second", lastID: mark.id)
      let missed = try await again.events { $0.kind == "job" && $0.data["state"]?.string == "completed" }
      #expect(!missed.contains { $0.kind == "reset" })
      let stranger = try EventStream(daemon, lastID: "other-12")
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
      let (all, one) = (try EventStream(daemon), try EventStream(daemon, query: "?id=j777"))
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
      let reader = try EventStream(daemon, query: "?state=running&type=slow")
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
