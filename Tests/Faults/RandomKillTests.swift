import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("SIGKILL at random moments")
  struct RandomKills {
    @Test(
      "Every accepted job has one outcome and its effects once, and what was told to be durable is",
      .timeLimit(.minutes(60)))
    func kills() async throws {
      let trial = try await Trial.fresh()
      var figures = FaultFigures("SIGKILL at random moments")
      for kill in 0..<FaultPlan.count("KILLS", short: 8, whole: 300) {
        try await strike(trial, &figures)
        figures.count(try await trial.settle("kill \(kill)"))
      }
      figures.jobs = trial.ledger.jobCount
      figures.tell("\(trial.ledger.durableCount) told to be durable")
    }

    /// Kills a daemon, in its start or at work.
    private func strike(_ trial: Trial, _ figures: inout FaultFigures) async throws {
      try trial.drop(files: trial.random(in: 1...8))
      let daemon = try DaemonProcess(trial.root)
      let isStart = trial.random(in: 0...3) == 0
      if !isStart {
        try await daemon.wait { $0.notifications.contains("READY=1") }
        try trial.post(files: trial.random(in: 1...4))
        try trial.drop(files: trial.random(in: 2...8))
      }
      // The moment is the fault, nothing waits for it.
      try await Task.sleep(for: .microseconds(trial.random(in: 0...(isStart ? 400_000 : 300_000))))
      let hasWork = try !trial.root.isSpoolEmpty
      try await daemon.kill()
      figures.faults += 1
      if hasWork { figures.struck += 1 }
    }
  }
}
