import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("Power cuts")
  struct PowerCuts {
    @Test(
      "What was accepted and what was told to be durable is there when the power is back", .timeLimit(.minutes(60)),
      arguments: DiskImage.Kind.allCases.filter(DiskImage.isPossible))
    func cuts(_ kind: DiskImage.Kind) async throws {
      let disk = try await DiskImage(kind)
      // Has a copy of the mounts all the time, as daemons of other tests do.
      let onlooker = try SupervisedScript("echo ready; read -r _", arguments: [], wrapper: SeparateMounts.wrapper)
      defer { withExtendedLifetime(onlooker) {} }
      let trial = try await Trial.fresh(salt: UInt64(kind.rawValue.utf8.count), in: disk.directory)
      var figures = FaultFigures("power cuts on \(kind)")
      var moments: [String: Int] = [:]
      var forgotten = 0
      let count = FaultPlan.count("CUTS", short: kind == .ext4 ? 6 : 2, whole: kind == .ext4 ? 100 : 20)
      for cut in 0..<count {
        let moment = Moment.allCases[cut % Moment.allCases.count]
        moments["\(moment)", default: 0] += 1
        try trial.drop(files: trial.random(in: 1...6))
        let unsynced = disk.directory.path("unsynced-\(cut)")
        try await strike(trial, disk, moment, &figures) {
          // Foundation would sync it.
          let file = try FileDescriptor.open(unsynced, .creatingExclusively, mode: 0o600)
          try file.writeAll(Data("gone with the power".utf8))
        }
        try await disk.unmount()
        try await disk.mount()
        try trial.reopen()
        // Or it was no power cut; another's sync in the same moment may have saved it.
        let rest = FileManager.default.contents(atPath: unsynced) ?? Data()
        if rest.isEmpty { forgotten += 1 }
        figures.count(try await trial.finish("cut \(cut) \(moment)"))
      }
      #expect(forgotten * 2 > count, "what nobody synced is there after \(count - forgotten) of \(count) cuts")
      figures.jobs = trial.ledger.jobCount
      figures.tell(
        moments.map { "\($0.value) \($0.key)" }.sorted().joined(separator: ", ")
          + "; \(trial.ledger.durableCount) told to be durable, \(forgotten) unsynced files gone")
    }

    /// When the power fails.
    enum Moment: CaseIterable {
      case atWork, duringRecovery, beforeUnlink, beforeRename
    }

    private func strike(
      _ trial: Trial, _ disk: DiskImage, _ moment: Moment, _ figures: inout FaultFigures,
      leaving unsynced: () throws -> Void
    ) async throws {
      let daemon: DaemonProcess
      var hasWork = true
      switch moment {
      case .atWork, .duringRecovery:
        daemon = try DaemonProcess(trial.root)
        if moment == .atWork {
          try await daemon.wait { $0.notifications.contains("READY=1") }
          try trial.post(files: trial.random(in: 1...4))
          try trial.drop(files: trial.random(in: 1...5))
        }
        // The moment is the fault, nothing waits for it.
        try await Task.sleep(for: .microseconds(trial.random(in: 0...350_000)))
        hasWork = try !trial.root.isSpoolEmpty
      case .beforeUnlink, .beforeRename:
        // Killed at the call, between the commit and what follows it; the power fails in the same moment.
        let calls = moment == .beforeUnlink ? "unlink,unlinkat" : "rename,renameat,renameat2,linkat"
        let number = trial.random(in: 1...12)
        daemon = try DaemonProcess(
          trial.root, wrapper: Tracer.wrapper("trace=\(calls)", "inject=\(calls):signal=SIGKILL:when=\(number)"))
        try await trial.root.changes.wait { try daemon.end != nil || trial.root.isSpoolEmpty }
      }
      try unsynced()
      try disk.cut()
      try await daemon.kill()
      await trial.waitForPosts()
      figures.faults += 1
      if hasWork { figures.struck += 1 }
    }
  }
}
