import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Traces of jobs")
  struct Traces {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private static let other = "00-1bf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"

    @Test("A trace of a header or a job file reaches the program, through retries and restarts, and the replies")
    func traced() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Jobs]\nBackoffBaseSec=1ms\n")
      let script = root.directory.path("trace.sh")
      // Fails at first, so that the trace must outlast a retry.
      try root.write(
        """
        #!/bin/sh
        read -r document
        printf '%s %s %s\\n' "$BOBBIN_JOB_ID" "$TRACEPARENT" "${TRACESTATE-none}" >>\(root.paths.payload)/seen
        printf '%s\\n' "$document" >>\(root.paths.payload)/documents
        [ "$BOBBIN_ATTEMPT" -gt 1 ]
        """, to: script)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
      try root.write(
        "[Handler]\nType=trace\nExecStart=\(script)\nMaxAttempts=2\n",
        to: root.paths.handlers + "/trace.conf")
      let daemon = try await DaemonProcess.ready(root)
      let heard = root.directory.path("heard")
      #expect(mkfifo(heard, 0o600) == 0)
      async let events = Tool.run(
        "/usr/bin/curl",
        [
          "-sSN", "--max-time", "60", "--unix-socket", root.paths.socket, "-o", heard,
          "http://localhost/v1/events?type=trace&state=completed",
        ])
      let pipe = try await onThread {
        let pipe = try #require(FileHandle(forReadingAtPath: heard))
        // The overview comes first, at once.
        #expect(String(decoding: pipe.availableData, as: UTF8.self).contains("event: status"))
        return pipe
      }
      let files = [
        ("own", #"{"type": "trace", "id": "own", "traceparent": "\#(Self.other)", "tracestate": "a=1"}"#),
        ("header", #"{"type": "trace", "id": "header"}"#),
        ("batch", #"{"jobs": [{"type": "trace", "id": "member"}], "callback": {"type": "trace", "id": "callback"}}"#),
      ]
      for (name, text) in files {
        let reply = try await Tool.run(
          "/usr/bin/curl",
          [
            "-s", "--unix-socket", root.paths.socket, "-H", "traceparent: \(Self.parent)", "-H", "tracestate: b=2",
            "-d",
            text, "http://localhost/v1/jobs?wait=60",
          ])
        let jobs = try JSONValue(parsing: Array(reply.output.utf8), dialect: .json)["jobs"]?.array ?? []
        let traces = jobs.map { $0["traceparent"]?.string }
        #expect(traces == jobs.map { _ in name == "own" ? Self.other : Self.parent }, "\(name): \(reply.output)")
        #expect(jobs.allSatisfy { $0["state"]?.string == "completed" && $0["attempt"]?.integer == 2 })
      }
      let seen = try String(contentsOfFile: root.paths.payload + "/seen", encoding: .utf8).split(separator: "\n")
      for (id, words) in [
        ("own", "\(Self.other) a=1"), ("header", "\(Self.parent) b=2"), ("member", "\(Self.parent) b=2"),
        ("callback", "\(Self.parent) b=2"),
      ] {
        #expect(seen.filter { $0.hasPrefix("\(id) ") } == ["\(id) \(words)", "\(id) \(words)"])
      }
      let documents = try String(contentsOfFile: root.paths.payload + "/documents", encoding: .utf8)
      #expect(documents.contains(#""traceparent":"\#(Self.other)","tracestate":"a=1""#))

      // An invalid header is ignored, an invalid document refused.
      let invalid = try await Tool.run(
        "/usr/bin/curl",
        [
          "-s", "--unix-socket", root.paths.socket, "-H", "traceparent: 00-1", "-d",
          #"{"type": "noop", "id": "plain", "notBefore": "2099-01-01T00:00:00Z", "traceparent": "\#(Self.parent)"}"#,
          "http://localhost/v1/jobs",
        ])
      #expect(invalid.output.contains(Self.parent))
      let refused = try await daemon.request(
        "POST", "/v1/jobs", body: #"{"type": "noop", "traceparent": "00-1"}"#)
      #expect(refused.status == 400 && refused.body["error"]?["code"]?.string == "invalid-job")

      // Who follows is told of it with each job.
      let text = try await onThread {
        var text = ""
        // The stream ends after a minute.
        while !["own", "header", "member", "callback"].allSatisfy({ text.contains("{\"id\":\"\($0)\"") }) {
          let piece = pipe.availableData
          if piece.isEmpty { break }
          text += String(decoding: piece, as: UTF8.self)
        }
        return text
      }
      #expect(try await daemon.stop() == .exited(code: 0))
      _ = try await events
      let told = try text.matches(of: /data: (\{"id".*\})/).map {
        try JSONValue(parsing: Array($0.1.utf8), dialect: .json)
      }
      for (id, parent) in [("own", Self.other), ("header", Self.parent), ("member", Self.parent)] {
        let traces = told.filter { $0["id"]?.string == id }.map { $0["traceparent"]?.string }
        #expect(!traces.isEmpty && traces.allSatisfy { $0 == parent }, "\(id): \(text)")
      }
      let again = try await DaemonProcess.ready(root)
      for (id, parent) in [("own", Self.other), ("plain", Self.parent)] {
        let job = try await again.get("/v1/jobs/\(id)")
        #expect(job["traceparent"]?.string == parent)
        #expect(job["options"]?["traceparent"]?.string == parent)
      }
      // Replaced by somebody who knows of no trace.
      _ = try await again.submit(#"{"type": "noop", "id": "plain", "replace": true}"#)
      let replaced = try await again.get("/v1/jobs/plain")
      #expect(replaced["traceparent"]?.string == Self.parent)
      let list = try await again.get("/v1/jobs")
      #expect(list["jobs"]?.array?.count { $0["traceparent"]?.string == Self.parent } == 4)
    }
  }
}
