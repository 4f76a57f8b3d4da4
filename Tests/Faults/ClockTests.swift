import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("Clocks that jump")
  struct Clocks {
    private static let day: Int64 = 86_400

    @Test("What is scheduled runs when a jump makes it due, and not before")
    func forward() async throws {
      let (root, clock) = (try DaemonRoot(), try await SettableClock())
      var figures = FaultFigures("jumps of the clock forward")
      let daemon = try await DaemonProcess.ready(root, environment: clock.environment)
      for number in 1...Int64(FaultPlan.count("JUMPS", short: 2, whole: 20)) {
        let due = Date(timeIntervalSinceNow: Double(number * Self.day - 3600)).formatted(.iso8601)
        let late = Date(timeIntervalSinceNow: Double(number * Self.day + 3600)).formatted(.iso8601)
        try root.drop(
          #"{"jobs": [{"type": "noop", "id": "due-\#(number)", "notBefore": "\#(due)"}, {"type": "noop", "id": "late-\#(number)", "notBefore": "\#(late)"}]}"#,
          as: FileName("\(number).json"))
        _ = try await daemon.submit(#"{"type": "noop", "id": "before-\#(number)"}"#)
        let before = try await root.sql("SELECT id, state FROM Job WHERE id LIKE '%e-\(number)' ORDER BY id")
        #expect(before.contains("due-\(number)|scheduled\nlate-\(number)|scheduled"), "\(before)")
        try clock.set(ahead: number * Self.day)
        // Whoever waits for it is answered when it is over.
        let witness = try await daemon.submit(#"{"type": "noop", "id": "after-\#(number)", "after": "due-\#(number)"}"#)
        #expect(witness.first?["state"]?.string == "completed")
        let state = try await root.sql("SELECT state FROM Job WHERE id = 'late-\(number)'")
        #expect(state == "scheduled")
        let uptime = try #require(try await daemon.get("/v1/status")["uptimeSeconds"]?.number)
        #expect(uptime < 3600)
        figures.faults += 1
        figures.struck += 1
        figures.jobs += 4
      }
      let end = try await daemon.stop()
      #expect(end == .exited(code: 0))
      figures.tell()
    }

    @Test("A clock that is 20 years ahead for one start takes no history away")
    func retention() async throws {
      let (root, clock) = (try DaemonRoot(), try await SettableClock())
      var figures = FaultFigures("starts with a clock far ahead")
      func submit(_ id: String) async throws {
        let daemon = try await DaemonProcess.ready(root, environment: clock.environment)
        let jobs = try await daemon.submit(#"{"type": "noop", "id": "\#(id)"}"#)
        #expect(jobs.first?["state"]?.string == "completed")
        #expect(try await daemon.stop() == .exited(code: 0))
      }
      try await submit("kept")
      try clock.set(ahead: 20 * 365 * Self.day)
      try await submit("ahead")
      try await submit("again")
      try clock.set(ahead: 0)
      try await submit("back")
      #expect(try await root.sql("SELECT id FROM Job ORDER BY id") == "again\nahead\nback\nkept")
      figures.faults += 2
      figures.struck += 2
      figures.jobs += 4
      figures.tell()
    }

    @Test("A clock that is set back holds up neither retries nor timeouts, also over a restart")
    func backward() async throws {
      let (root, clock) = (try DaemonRoot(), try await SettableClock())
      try await Workload.prepare(root)
      var figures = FaultFigures("jumps of the clock backward")
      for number in 1...Int64(FaultPlan.count("JUMPS", short: 2, whole: 20)) {
        let daemon = try await DaemonProcess.ready(root, environment: clock.environment)
        try root.drop(
          #"""
          {"type": "image.encode", "id": "p\#(number)", "timeout": "1ms", "maxAttempts": 3,
            "backoff": {"kind": "fixed", "base": "300ms"},
            "arguments": {"input": "in.jpg", "outputs": [{"path": "p.png", "width": 3000, "enlarge": true}]}}
          """#, as: FileName("p\(number).json"))
        try await daemon.waitForLog("job p\(number) (image.encode): attempt 1")
        try clock.set(ahead: -number * Self.day)
        try await daemon.waitForLog("job p\(number) (image.encode): attempt 2")
        _ = try await daemon.submit(#"{"type": "noop", "id": "n\#(number)"}"#)
        try await daemon.kill()
        // Again behind, while no daemon runs.
        try clock.set(ahead: -number * Self.day - 3600)
        let again = try await DaemonProcess.ready(root, environment: clock.environment)
        try await again.waitUntilSpoolIsEmpty(seconds: 20)
        let end = try await again.stop()
        #expect(end == .exited(code: 0))
        figures.faults += 2
        figures.struck += 2
        figures.jobs += 2
      }
      let states = try await root.sql("SELECT state, count(*) FROM Job GROUP BY state ORDER BY state")
      let count = FaultPlan.count("JUMPS", short: 2, whole: 20)
      #expect(states == "completed|\(count)\ndiscarded|\(count)")
      figures.tell()
    }

    @Test(
      "Steps of the clock while jobs run lose nothing, repeat nothing, and neither hurry nor delay timeouts and retries",
      .timeLimit(.minutes(60)))
    func steps() async throws {
      let clock = try await SettableClock()
      let root = try DaemonRoot(Workload.configuration)
      let trial = try await Trial(
        root, Workload(seed: FaultPlan.seed &+ 2_000_000), Ledger(comparesTimes: false))
      try TimedProgram.declare(in: root)
      var figures = FaultFigures("steps of the clock among running jobs")
      for round in 0..<FaultPlan.count("STEPS", short: 4, whole: 100) {
        let isKilled = round % 4 == 3
        var daemon = try await DaemonProcess.ready(root, environment: clock.environment)
        for program in TimedProgram.allCases { try trial.drop(program.file(round)) }
        try trial.drop(files: trial.random(in: 3...8))
        try trial.post(files: trial.random(in: 1...3))
        for step in 0..<trial.random(in: 3...8) {
          // The moment is the fault, nothing waits for it.
          try await Task.sleep(for: .microseconds(trial.random(in: 0...200_000)))
          try clock.set(ahead: Int64(trial.random(in: -3 * 86_400...20 * 86_400)))
          figures.faults += 1
          if try !root.isSpoolEmpty { figures.struck += 1 }
          if isKilled && step == 1 {
            try await daemon.kill()
            daemon = try await DaemonProcess.ready(root, environment: clock.environment)
          }
        }
        // What is scheduled need not wait for a day that is never to come.
        try clock.set(ahead: 0)
        figures.count(try await trial.finish(daemon, "round \(round)"))
        let end = try await daemon.stop()
        #expect(end == .exited(code: 0))
        let problems = TimedProgram.problems(round, isKilled: isKilled, in: root)
        #expect(problems.isEmpty, "round \(round), seed \(FaultPlan.seed): \(problems)\n\(daemon.logText)")
        if !problems.isEmpty { break }
      }
      figures.jobs = trial.ledger.jobCount
      figures.tell()
    }

    /// Programs that note when they begin and end, by the machine's clock, which nobody sets.
    private enum TimedProgram: String, CaseIterable {
      /// Takes a while, and may take much longer.
      case patient
      /// Takes longer than it may.
      case hasty
      /// Has to be tried again.
      case retried

      /// In nanoseconds; how long a job may take, and the shortest delay before another attempt.
      private static let timeout = 1_000_000_000, delay = 270_000_000
      /// What a loaded machine may add, and is still less than any step.
      private static let slack = 30_000_000_000

      private static func path(in root: DaemonRoot) -> String { root.directory.path("times") }

      static func declare(in root: DaemonRoot) throws {
        let script = """
          note() { echo "$BOBBIN_JOB_ID $BOBBIN_ATTEMPT $1 $(date +%s%N)" >>'\(path(in: root))'; }
          trap 'note end; exit 1' TERM
          note begin
          case $BOBBIN_JOB_ID in
            patient*) sleep 1 & ;;
            hasty*) sleep 100 & ;;
            *) [ $BOBBIN_ATTEMPT -ge 2 ] || { note end; exit 75; } ;;
          esac
          wait
          note end
          """
        let program = root.directory.path("timed.sh")
        try root.write(script, to: program)
        try root.write(
          "[Handler]\nType=test.timed\nExecStart=/bin/sh \(program)\n", to: "\(root.paths.handlers)/timed.conf")
      }

      private func id(_ round: Int) -> String { "\(self)-\(round)" }

      func file(_ round: Int) -> ExpectedFile {
        let options =
          switch self {
          // A daemon that is killed makes up for the attempt that it cut short.
          case .patient: #""timeout": "60s", "maxAttempts": 1"#
          case .hasty: #""timeout": "1s", "maxAttempts": 2"#
          case .retried: #""timeout": "60s", "maxAttempts": 2"#
          }
        let text = #"""
          {"type": "test.timed", "id": "\#(id(round))", \#(options), "backoff": {"kind": "fixed", "base": "300ms"}}
          """#
        let job = ExpectedJob(id: id(round), outcomes: [self == .hasty ? "discarded" : "completed"])
        return ExpectedFile(name: FileName("\(id(round)).json"), text: text, jobs: [job])
      }

      /// What came too early or too late.
      static func problems(_ round: Int, isKilled: Bool, in root: DaemonRoot) -> [String] {
        let data = FileManager.default.contents(atPath: path(in: root)) ?? Data()
        var times: [String: [(attempt: Int, isBegin: Bool, time: Int)]] = [:]
        for line in String(decoding: data, as: UTF8.self).split(separator: "\n") {
          let words = line.split(separator: " ")
          guard words.count == 4, let attempt = Int(words[1]), let time = Int(words[3]) else { return ["\(line)?"] }
          times[String(words[0]), default: []].append((attempt, words[2] == "begin", time))
        }
        return allCases.flatMap { program -> [String] in
          let notes = times[program.id(round)] ?? []
          if isKilled { return [] }
          let attempts = program == .patient ? 1 : 2
          guard notes.count == attempts * 2 else { return ["\(program.id(round)): \(notes)"] }
          return zip(notes, notes.dropFirst()).compactMap { earlier, later in
            let span = later.time - earlier.time
            let limits =
              switch (earlier.isBegin, program) {
              case (true, .retried): 0...slack
              // It began before it could note that, long before on a loaded machine; a step would leave nothing.
              case (true, _): timeout / 2...timeout + slack
              case (false, _): delay...delay + slack
              }
            if limits.contains(span) { return nil }
            let phase = earlier.isBegin ? "in" : "after"
            return "\(program.id(round)): \(Double(span) / 1e9) s \(phase) attempt \(earlier.attempt)"
          }
        }
      }
    }
  }
}
