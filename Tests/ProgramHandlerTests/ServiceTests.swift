import Foundation
import Glibc
import JSONText
import Jobs
import SystemSupport
import TestSupport
import Testing

@testable import ProgramHandler

@Suite("A handler that is a service at a Unix socket")
struct ServiceTests {
  private static let reads = "cat >/dev/null; "

  @Test("It reads the job to its end, and says all that a program says; who it is comes first in the log")
  func conversation() async throws {
    let fixture = try ProcessFixture(
      #"""
      cat > job; echo in words
      for n in 1 2; do echo '{"insert": {"entity": "Reading", "values": {"number": '$n'}}}'; done
      echo '{"checkpoint": "page 2"}'
      echo '{"insert": {"entity": "Reading", "values": {"number": 3}}}'
      echo '{"progress": {"done": 3, "unit": "rows"}, "log": "said so"}'
      echo '{"result": {"pages": 1}}'; printf '{"result": {"pages": 3}}'
      """#, isService: true)
    #expect(try await fixture.run(arguments: ["to": "me"], attempt: 2) == ["pages": 3])
    #expect(try await fixture.numbers() == [1, 2, 3])
    #expect(fixture.progress == JobProgress(done: 3, unit: "rows"))
    #expect(
      try fixture.text(of: "job") == """
        {"version":1,"id":"job 1","type":"shell","queue":"default","priority":7,"attempt":2,"maxAttempts":3,\
        "submitter":1000,"arguments":{"to":"me"},"payload":"\(fixture.directory.path)","cursor":null,\
        "after":[],"batch":null,"traceparent":null,"tracestate":null}

        """)
    let me = try UserIdentity.ofThisProcess().description
    let lines = fixture.log.split(separator: "\n").map(String.init)
    #expect(lines.dropFirst() == ["in words", "said so"])
    #expect(lines.first?.hasPrefix("served by process ") == true && lines.first?.hasSuffix(", as \(me)") == true)
    let cursor = try #require(try await fixture.cursor())
    try await fixture.handler.revert(try await fixture.makeExecution(cursor: cursor))
    #expect(try await fixture.numbers() == [3])
  }

  @Test(
    "Without a result at the end the attempt has failed, and another may succeed",
    arguments: [
      "", "echo words", #"echo '{"progress": {"done": 1}}'"#,
      #"echo '{"result": {}}'; echo '{"insert": {"entity": "Reading", "values": {"number": 1}}}'"#,
      #"printf '{"insert": {"entity": "Read'"#, #"echo '{"checkpoint": "x"}'; kill -9 $$"#,
    ])
  func noResult(script: String) async throws {
    let fixture = try ProcessFixture(Self.reads + script, isService: true)
    let failure = try #require(try await fixture.failure())
    let expected = "the service at \(fixture.path("s.sock")) closed the connection without a result"
    #expect(failure.message.hasPrefix(expected), "\(failure)")
    #expect(!failure.isPermanent && failure.crash == nil)
    #expect(try await fixture.numbers() == [])
  }

  @Test("A failure that it tells counts, also after a result, and whether it is for good")
  func toldFailure() async throws {
    for isPermanent in [true, false] {
      let fixture = try ProcessFixture(
        Self.reads + "echo '{\"result\": {}, \"error\": {\"message\": \"no ink\", \"permanent\": \(isPermanent)}}'",
        isService: true)
      #expect(try await fixture.failure() == JobFailure("no ink", isPermanent: isPermanent))
    }
  }

  @Test(
    "One that goes away before it has read the job is a fault of the host, unless it has begun",
    arguments: [0, 300_000])
  func unread(size: Int) async throws {
    let arguments: JSONValue = ["text": .string(String(repeating: "x", count: size))]
    for script in ["exit 0", "echo can not begin; exit 1", "kill -9 $$"] {
      let fixture = try ProcessFixture(script, isService: true)
      let fault = await #expect(throws: HostFault.self) { _ = try await fixture.run(arguments: arguments) }
      #expect(
        fault?.description.contains("closed the connection before it had read the job; the journal of its unit") == true
      )
      #expect(fault?.awaited == fixture.path("s.sock"))
    }
    let begun = try ProcessFixture(#"echo '{"progress": {"done": 1}}'"#, isService: true)
    #expect(try await begun.failure(arguments: arguments)?.message.contains("without a result") == true)
    let done = try ProcessFixture(#"echo '{"result": {"ok": true}}'"#, isService: true)
    #expect(try await done.run(arguments: arguments) == ["ok": true])
  }

  @Test("Megabytes reach one that first says as much itself, and nobody waits for the other")
  func bothLong() async throws {
    let fixture = try ProcessFixture(
      #"yes $(printf %0100d 0) | head -n 19000; wc -c > count; echo '{"result": {}}'"#, isService: true)
    _ = try await fixture.run(arguments: ["text": .string(String(repeating: "x", count: 2 << 20))])
    let count = try #require(Int(try fixture.text(of: "count").trimmingCharacters(in: .whitespacesAndNewlines)))
    #expect(count > 2 << 20)
    #expect(fixture.log.contains("[... 1"))
  }

  @Test("Bytes that mean nothing are its log; a wrong message closes the connection, and fails the job for good")
  func garbage() async throws {
    let random = try ProcessFixture(
      Self.reads + #"head -c 300000 /dev/urandom; printf '\n{"result": {"ok": true}}\n'"#, isService: true)
    #expect(try await random.run() == ["ok": true])
    let wrong = try ProcessFixture(
      Self.reads + #"echo '{"progres": {}, "log": "x"}'; while echo on; do sleep 0.05; done"#, isService: true)
    let failure = try #require(try await wrong.failure(seconds: 20))
    let expected = "line 1 of its output: \"progres\" is not a key of a message; did you mean \"progress\"?"
    #expect(failure.message.hasPrefix("the service at \(wrong.path("s.sock")): \(expected)"), "\(failure)")
    #expect(failure.isPermanent)
  }

  @Test("A cancelled attempt closes the connection: it can't write any more, and what it inserted is dropped")
  func cancelled() async throws {
    let fixture = try ProcessFixture(
      Self.reads + #"""
        trap '' PIPE
        echo '{"insert": {"entity": "Reading", "values": {"number": 1}}}'
        echo > ready
        while echo on; do sleep 0.02; done 2>/dev/null
        echo > ended
        """#, isService: true)
    for name in ["ready", "ended"] { mkfifo(fixture.path(name), 0o600) }
    let execution = try await fixture.makeExecution()
    let attempt = Task { [handler = fixture.handler] in try await handler.run(execution) }
    try await read("ready", of: fixture)
    attempt.cancel()
    await #expect(throws: CancellationError.self) { try await withTimeout(seconds: 60) { try await attempt.value } }
    try await read("ended", of: fixture)
    #expect(try await fixture.numbers() == [])
  }

  /// Reads a FIFO of the fixture to its end.
  private func read(_ name: String, of fixture: ProcessFixture) async throws {
    let path = fixture.path(name)
    try await withTimeout(seconds: 60) {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        Thread.detachNewThread {
          continuation.resume(with: Result { _ = try FileDescriptor.open(path).readAll(limit: 1000) })
        }
      }
    }
  }

  @Test("A socket that is missing, dead or no socket is a fault of the host, which ends when something comes there")
  func missing() async throws {
    let fixture = try ProcessFixture("", isService: true)
    let path = fixture.path("s.sock")
    try fixture.listener?.close()
    let start = "the service at \(path) can't be reached: "
    func fault() async -> String {
      let fault = await #expect(throws: HostFault.self) { _ = try await fixture.run() }
      #expect(fault?.awaited == path)
      return fault?.description ?? ""
    }
    #expect(
      await fault() == start + "open \"\(path)\": No such file or directory (ENOENT); is its socket unit started?")
    try Data().write(to: URL(filePath: path))
    #expect(await fault() == start + "\(path) is no socket")
    unlink(path)
    await #expect(processExitsWith: .success) { [path = path as String] in
      _ = try UnixListener(path: path, mode: 0o600)
      exit(0)
    }
    #expect(await fault() == start + "nobody listens there; is its socket unit started?")
  }

  @Test("A socket that another user could have put there is not connected to", .enabled(if: SkipReason.runsAsRoot()))
  func strangers() async throws {
    let fixture = try ProcessFixture(Self.reads + "echo '{\"result\": {}}'", isService: true)
    let path = fixture.path("s.sock")
    let listener = try #require(fixture.listener)
    func fault() async -> String {
      let fault = await #expect(throws: HostFault.self) { _ = try await fixture.run() }
      return fault?.description ?? ""
    }
    try #require(chown(path, 65534, 65534) == 0)
    #expect(await fault().contains("\(path) belongs to user 65534, who is neither root nor the daemon's user"))
    try #require(chown(path, 0, 0) == 0 && chmod(fixture.directory.path, 0o777) == 0)
    #expect(
      await fault().contains("others than its owner may write to the folder \(fixture.directory.path), and replace"))
    // In a sticky one they can't, but they could have made a link there.
    try #require(chmod(fixture.directory.path, 0o1777) == 0)
    _ = try await fixture.run()
    try #require(rename(path, path + ".moved") == 0 && symlink("s.sock.moved", path) == 0)
    _ = try await fixture.run()
    try #require(lchown(path, 65534, 65534) == 0)
    #expect(await fault().contains("\(path) belongs to user 65534"))
    #expect(listener.count == 2)
  }
}
