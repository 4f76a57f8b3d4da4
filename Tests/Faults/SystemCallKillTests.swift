import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("SIGKILL at a system call")
  struct SystemCallKills {
    /// Calls that do the same.
    enum Calls: String, CaseIterable {
      case sync = "fdatasync,fsync"
      case rename = "rename,renameat,renameat2,linkat"
      case unlink = "unlink,unlinkat"
    }

    /// Jobs that are submitted one by one to a daemon that has not reached the call yet.
    private static let extraLimit = 400

    @Test(
      "The N-th flush, rename or removal is the last, and nothing is lost or done twice", .enabled(if: Tracer.canTrace),
      .timeLimit(.minutes(60)), arguments: Calls.allCases)
    func kills(_ calls: Calls) async throws {
      // Flushes follow each other at once, so that many calls take little time.
      let configuration = Workload.configuration.replacing("FlushIntervalSec=20ms", with: "FlushIntervalSec=2ms")
      let salt = UInt64(calls.rawValue.utf8.count)
      var trial = try await Trial.fresh(salt: salt, configuration: configuration)
      var figures = FaultFigures("SIGKILL at the N-th \(calls.rawValue)")
      let count = FaultPlan.count("CALLS", short: 3, whole: 100)
      for number in 1...count {
        // A look at everything takes the longer, the more there is.
        if number % 10 == 0 {
          figures.jobs += trial.ledger.jobCount
          trial = try await Trial.fresh(salt: salt &+ UInt64(number) &* 100, configuration: configuration)
        }
        // Spread over the first hundred where there are few.
        let number = count < 100 ? trial.random(in: 1...30) : number
        if try await strike(trial, calls, number) { figures.struck += 1 }
        figures.faults += 1
        figures.count(try await trial.finish("\(calls) \(number)"))
      }
      figures.jobs += trial.ledger.jobCount
      figures.tell()
    }

    /// Lets a daemon work until it makes a call for so many times in one thread; returns whether it did.
    private func strike(_ trial: Trial, _ calls: Calls, _ number: Int) async throws -> Bool {
      try trial.drop(files: 3)
      let daemon = try DaemonProcess(
        trial.root,
        wrapper: Tracer.wrapper("trace=\(calls.rawValue)", "inject=\(calls.rawValue):signal=SIGKILL:when=\(number)"))
      for extra in 0..<Self.extraLimit {
        try await trial.root.changes.wait { try daemon.end != nil || trial.root.isSpoolEmpty }
        if try daemon.end != nil { break }
        try trial.drop(files: extra % 10 == 0 ? 2 : 0)
        try trial.drop(.noop("x\(calls)-\(number)-\(extra)"))
      }
      let isHit = try daemon.end != nil
      if isHit { _ = try await daemon.waitForEnd() } else { try await daemon.kill() }
      return isHit
    }
  }
}

extension ExpectedFile {
  /// A file with one job that does nothing.
  static func noop(_ id: String) -> ExpectedFile {
    ExpectedFile(
      name: FileName("\(id).json"), text: #"{"type": "noop", "id": "\#(id)"}"#, jobs: [ExpectedJob(id: id)])
  }
}
