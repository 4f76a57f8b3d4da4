import DaemonTesting
import Foundation
import TestSupport
import Testing

extension SystemTests {
  @Suite("Lines about jobs")
  struct JobLog {
    @Test("A job has one line with the time, once it is on disk: how it ended, how long it took and what came of it")
    func lines() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes.dropLast() + "\nShutdownTimeoutSec=1s\n")
      let started = root.paths.payload + "/started"
      let types = [
        "tells": "echo '{\"result\": {\"inserted\": 5, \"rejected\": 2}}'", "fails": "exit 65",
        "hangs": "touch '\(started)'; exec sleep 600",
      ]
      for (type, script) in types {
        try root.write("#!/bin/sh\n\(script)\n", to: root.paths.handlers + "/\(type).sh")
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o755], ofItemAtPath: root.paths.handlers + "/\(type).sh")
        try root.write(
          "[Handler]\nType=\(type)\nExecStart=\(root.paths.handlers)/\(type).sh\n",
          to: root.paths.handlers + "/\(type).conf")
      }
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(
        #"""
        {"jobs": [{"id": "well", "type": "tells"}, {"id": "ill", "type": "fails"}, {"id": "small", "type": "noop"},
                  {"id": "long", "type": "hangs"}, {"id": "lost", "type": "noop", "after": "ill"}]}
        """#, as: "jobs.json")
      try await daemon.wait { daemon in
        FileManager.default.fileExists(atPath: started)
          && ["well", "ill", "small", "lost"].allSatisfy { daemon.logText.contains("job \($0) (") }
      }
      _ = try await daemon.stop()
      let time = #"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00 bobbind: "#
      let took = #"\d[\d.]* (µs|ms|s)"#
      for line in [
        #"job well \(tells\) was completed in \#(took): inserted 5, rejected 2"#,
        #"job ill \(fails\): attempt 1 of 20 failed after \#(took), discarded: the program .* exited with code 65.*"#,
        #"job small \(noop\) was completed in \#(took)"#,
        #"job lost \(noop\) was cancelled: the job "ill", which must be completed before it, is discarded"#,
        #"job long \(hangs\): attempt 1 of 20 was interrupted by the daemon's end after \#(took); it runs again"#,
      ] {
        let form = try Regex(time + line)
        #expect(daemon.logLines.count { $0.wholeMatch(of: form) != nil } == 1, "\(line)\n\(daemon.logText)")
      }
      #expect(daemon.logLines.count { $0.contains(" job ") } == 5, "\(daemon.logText)")
    }

    @Test(
      "Of thousands of jobs in a second as many are told as [Log] Jobs= says, and of the rest how many; failures all are"
    )
    func burst() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Log]\nJobs=10\n[Jobs]\nMaxAttempts=1\n")
      try root.write(
        "[Handler]\nType=fails\nExecStart=/bin/sh -c \"exit 65\"\n", to: root.paths.handlers + "/fails.conf")
      let daemon = try await DaemonProcess.ready(root)
      let jobs = (1...2000).map { "{\"type\": \"noop\", \"id\": \"n\($0)\"}" }
      let failing = (1...20).map { "{\"type\": \"fails\", \"id\": \"f\($0)\"}" }
      try root.drop("{\"jobs\": [\((jobs + failing).joined(separator: ","))]}", as: "jobs.json")
      try await daemon.waitUntilSpoolIsEmpty()
      _ = try await daemon.stop()
      let told = daemon.logLines.count { $0.contains("(noop) was completed in") }
      let counted = daemon.logLines.compactMap { $0.firstMatch(of: /(\d+) more jobs? were completed: noop \d+$/) }
        .compactMap { Int($0.output.1) }
      #expect(told >= 10 && told < 500, "\(daemon.logText)")
      #expect(told + counted.reduce(0, +) == 2000, "\(daemon.logText)")
      #expect(daemon.logLines.count { $0.contains(" (fails): attempt 1 of 1 failed after ") } == 20)
    }
  }
}
