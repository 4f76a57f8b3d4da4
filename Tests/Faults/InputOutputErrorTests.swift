import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("Failing disks")
  struct InputOutputErrors {
    /// What fails.
    struct Failure: Sendable, CustomTestStringConvertible {
      let call: String
      /// The only file that fails, in `state/`; nil for all.
      let file: String?
      var testDescription: String { "\(call) of \(file ?? "anything")" }
    }

    @Test(
      "An error of the store's disk ends the daemon with 74, acknowledges nothing, and the next start recovers",
      .enabled(if: Tracer.canTrace), .timeLimit(.minutes(20)),
      arguments: [
        Failure(call: "fdatasync", file: "bobbin.sqlite-wal"), Failure(call: "pwrite64", file: "bobbin.sqlite-wal"),
        Failure(call: "fdatasync", file: nil),
      ])
    func storeFails(_ failure: Failure) async throws {
      let trial = try await Trial.fresh(salt: UInt64(failure.testDescription.utf8.count))
      var figures = FaultFigures("EIO from \(failure.testDescription)")
      for number in 1...FaultPlan.count("ERRORS", short: 1, whole: 12) {
        let daemon = try await DaemonProcess.ready(trial.root)
        let path = failure.file.map { ["-P", trial.root.paths.state + "/" + $0] } ?? []
        let occurrence = trial.random(in: 1...6)
        let tracer = try await Tracer.attach(
          to: daemon,
          path + ["-e", "trace=\(failure.call)", "-e", "inject=\(failure.call):error=EIO:when=\(occurrence)"])
        try trial.post(files: 3)
        for extra in 0..<400 {
          if try daemon.end != nil { break }
          try trial.drop(.noop("e\(failure.testDescription.utf8.count)-\(number)-\(extra)"))
          try await trial.root.changes.wait { try daemon.end != nil || trial.root.isSpoolEmpty }
        }
        let end = try await daemon.waitForEnd()
        #expect(end == .exited(code: 74), "\(daemon.logText)")
        try await tracer.waitForEnd()
        figures.faults += 1
        if try !trial.root.isSpoolEmpty { figures.struck += 1 }
        figures.count(try await trial.finish("\(failure.testDescription) \(occurrence)"))
      }
      figures.jobs = trial.ledger.jobCount
      figures.tell()
    }

    @Test("A spool that can't be synced accepts nothing over the socket", .enabled(if: Tracer.canTrace))
    func spoolFails() async throws {
      let trial = try await Trial.fresh(kinds: [.noop])
      let daemon = try await DaemonProcess.ready(trial.root)
      let tracer = try await Tracer.attach(to: daemon, ["-e", "trace=fsync", "-e", "inject=fsync:error=EIO"])
      let reply = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "id": "refused"}"#)
      #expect(reply.status == 500)
      #expect(reply.body["error"]?["code"]?.string == "spool")
      try await daemon.kill()
      try await tracer.waitForEnd()
      // What was refused does not run later, and can be sent again.
      var problems = try await trial.finish("the spool failed")
      try trial.drop(.noop("refused"))
      problems += try await trial.finish("sent again")
      #expect(problems.isEmpty)
    }
  }
}
