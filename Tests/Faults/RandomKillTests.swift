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
        figures.count(try await trial.finish("kill \(kill)"))
      }
      figures.jobs = trial.ledger.jobCount
      figures.tell("\(trial.ledger.durableCount) told to be durable")
    }

    @Test(
      "What an operator was told holds over kills: cancelled, held, released, retried, paused, of another priority",
      .timeLimit(.minutes(60)))
    func killsAmongOrders() async throws {
      let trial = try await Trial.fresh(salt: 1_000_000, queues: OrderGiver.queues)
      var figures = FaultFigures("SIGKILL at random moments, with orders")
      for kill in 0..<FaultPlan.count("ORDERS", short: 9, whole: 300) {
        try trial.drop(files: trial.random(in: 4...10))
        let daemon = try await DaemonProcess.ready(trial.root)
        async let orders: Void = OrderGiver.all(trial.ledger, seed: FaultPlan.seed &+ UInt64(kill), to: daemon)
        try trial.post(files: trial.random(in: 1...3))
        try trial.drop(files: trial.random(in: 2...6))
        // The moment is the fault, nothing waits for it.
        try await Task.sleep(for: .microseconds(trial.random(in: 50_000...700_000)))
        try await daemon.kill()
        try await orders
        figures.faults += 1
        if try !trial.root.isSpoolEmpty { figures.struck += 1 }
        // Some orders are to hold over several kills.
        if kill % 3 != 2 { continue }
        let problems = try await trial.finish("kill \(kill)")
        figures.count(problems)
        // What is wrong once stays so.
        if !problems.isEmpty { break }
      }
      figures.jobs = trial.ledger.jobCount
      let counts = trial.ledger.orders.counts
      figures.tell("\(counts.done) orders done, \(counts.refused) refused, \(counts.unknown) cut short")
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
