import Foundation
import Glibc
import JSONText
import Jobs
import ObjectGraph
import SystemSupport
import TestSupport
import Testing

@testable import ProgramHandler

@Suite("The end of a process handler's program")
struct ProcessEndingTests {
  /// Reads a FIFO of the fixture on a thread of its own, from its first writer to the end of its last.
  private func read(_ name: String, of fixture: ProcessFixture) -> Task<Void, any Error> {
    let path = fixture.path(name)
    mkfifo(path, 0o600)
    return Task {
      try await withTimeout(seconds: 60) {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
          Thread.detachNewThread {
            continuation.resume(with: Result { _ = try FileDescriptor.open(path).readAll(limit: 1000) })
          }
        }
      }
    }
  }

  /// Starts an attempt, waits until the script writes to the FIFO `ready`, cancels it, and waits for its end.
  ///
  /// - Returns: how long the end took.
  private func cancel(_ fixture: ProcessFixture) async throws -> Duration {
    let ready = read("ready", of: fixture)
    let execution = try await fixture.makeExecution()
    let attempt = Task { [handler = fixture.handler] in try await handler.run(execution) }
    try await ready.value
    let start = ContinuousClock.now
    attempt.cancel()
    await #expect(throws: CancellationError.self) { try await withTimeout(seconds: 60) { try await attempt.value } }
    return start.duration(to: .now)
  }

  @Test("A cancelled attempt asks the program to end, reads what it still says, and drops what it inserted")
  func cancelled() async throws {
    let fixture = try ProcessFixture(
      #"""
      trap 'echo ending; echo done > ended; exit 0' TERM
      echo '{"insert": {"entity": "Reading", "values": {"number": 1}}}'
      echo > ready
      while :; do sleep 0.05; done
      """#, "KillGraceSec=1h")
    _ = try await cancel(fixture)
    #expect(try fixture.text(of: "ended") == "done\n")
    #expect(try await fixture.numbers() == [])
  }

  @Test("A program that ignores SIGTERM, and its children that do, are killed after the grace")
  func stubborn() async throws {
    let fixture = try ProcessFixture(
      "exec 3> held; trap '' TERM; (trap '' TERM; exec sleep 600) & echo > ready; wait; sleep 600",
      "KillGraceSec=300ms")
    let held = read("held", of: fixture)
    let duration = try await cancel(fixture)
    #expect(duration >= .milliseconds(300) && duration < .seconds(50))
    // Ends when all who have it open are dead.
    try await held.value
  }

  @Test("What a program leaves behind in its group is killed, and its open pipes hold nobody up")
  func leftBehind() async throws {
    let fixture = try ProcessFixture("exec 3> held; sleep 600 & echo bye; exit 0")
    let held = read("held", of: fixture)
    _ = try await fixture.run()
    #expect(fixture.log == "bye\n")
    try await held.value
  }

  @Test("A process that has left the group and holds the pipes, even one that floods them, holds nobody up")
  func escaped() async throws {
    let fixture = try ProcessFixture("setsid sh -c 'echo $$ > child; echo > ready; exec yes' & cat ready; exit 0")
    mkfifo(fixture.path("ready"), 0o600)
    defer {
      if let number = (try? fixture.text(of: "child")).flatMap({ Int32($0.dropLast()) }) { kill(number, SIGKILL) }
    }
    _ = try await fixture.run()
  }

  @Test("A program may close its output and go on, and never read its input")
  func closedOutput() async throws {
    let fixture = try ProcessFixture("exec >&- 2>&-; sleep 0.3; echo here > file; exit 3")
    let long = String(repeating: "x", count: 10 << 20)
    let failure = try await fixture.failure(arguments: ["text": .string(long)], seconds: 30)
    #expect(failure?.message.contains("exited with code 3") == true)
    #expect(try fixture.text(of: "file") == "here\n")
  }

  @Test("Ten megabytes of arguments reach a program that reads them")
  func longInput() async throws {
    let fixture = try ProcessFixture("wc -c > count")
    _ = try await fixture.run(arguments: ["text": .string(String(repeating: "x", count: 10 << 20))])
    let count = try #require(Int(try fixture.text(of: "count").trimmingCharacters(in: .whitespacesAndNewlines)))
    #expect(count > 10 << 20 && count < (10 << 20) + 1000)
  }

  @Test("A gigabyte of output takes no memory, on either pipe and in lines or without")
  func floods() async {
    // Other tests take memory in this process.
    await #expect(processExitsWith: .success) { try await Self.flood("") }
    await #expect(processExitsWith: .success) { try await Self.flood(">&2") }
  }

  private static func flood(_ redirection: String) async throws {
    let fixture = try ProcessFixture(
      """
      line=$(printf '%01000d' 7)
      (head -c 500000000 /dev/zero; yes "$line" | head -c 524288000; echo; echo the end) \(redirection)
      """)
    let before = try peakMemory()
    _ = try await fixture.run(seconds: 300)
    let grown = try peakMemory() - before
    try #require(grown < 16 << 20, "\(grown) bytes")
    try #require(fixture.log.hasSuffix("\nthe end\n"))
    try #require(fixture.log.contains("[... 1024222"))
  }

  private static func peakMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let match = try #require(status.firstMatch(of: /VmHWM:\s+([0-9]+) kB/))
    return (Int(match.output.1) ?? 0) << 10
  }

  @Test("Binary output is kept as log, and means nothing")
  func garbage() async throws {
    let fixture = try ProcessFixture("head -c 300000 /dev/urandom; printf '\\n{\"result\": {\"ok\": true}}\\n'")
    #expect(try await fixture.run() == ["ok": true])
    #expect(fixture.log.utf8.count > 60_000)
  }

  @Test("Half a message at the end of the output fails the attempt, unless the program crashed anyway")
  func halfLine() async throws {
    let half = #"printf 'x\n{"insert": {"entity": "Read'"#
    let fixture = try ProcessFixture(half)
    let expected = "the program /bin/sh: line 2 of its output: it begins like a message, but is not JSON: "
    #expect(try await fixture.failure()?.message.hasPrefix(expected) == true)
    let crashing = try ProcessFixture(half + "; kill -9 $$")
    #expect(try await crashing.failure()?.crash?.signal == SIGKILL)
  }

  @Test("Many attempts at once leave no process and no descriptor behind")
  func many() async {
    // In a process of its own, as other tests open files and start programs too.
    await #expect(processExitsWith: .success) {
      let fixture = try ProcessFixture("echo '{\"log\": \"x\"}'; exec true")
      _ = try await fixture.run()
      let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
      for _ in 0..<5 {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<20 {
            group.addTask {
              let execution = try await fixture.makeExecution()
              _ = try await withTimeout(seconds: 60) { try await fixture.handler.run(execution) }
            }
          }
          try await group.waitForAll()
        }
      }
      let after = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
      #expect(after < before + 10)
      #expect(waitpid(-1, nil, WNOHANG) == -1 && errno == ECHILD)
    }
  }
}
