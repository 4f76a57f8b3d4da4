import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite struct ChildProcessTests {
  private func shell(_ script: String, _ descriptors: [Int32: Int32] = [:]) throws -> ChildProcess {
    try ChildProcess.start(
      ChildLaunch(executable: "/bin/sh", arguments: ["-c", script], descriptors: descriptors))
  }

  /// What a child writes to its standard output, and how it ends.
  private func output(of launch: ChildLaunch) async throws -> (text: String, termination: Termination) {
    let pipe = try FileDescriptor.pipe()
    var launch = launch
    launch.descriptors[1] = pipe.second.number
    let child = try ChildProcess.start(launch)
    let reader = try pipe.first.duplicate().relinquish()
    _ = consume pipe
    let termination = try await withTimeout { try await child.termination() }
    let text = try FileDescriptor(owning: reader).readAll(limit: 1 << 20)
    return (String(decoding: text, as: UTF8.self), termination)
  }

  @Test("The exit code is told", arguments: [0, 1, 75, 255] as [Int32])
  func exitCode(code: Int32) async throws {
    let child = try shell("exit \(code)")
    let termination = try await withTimeout { try await child.termination() }
    #expect(termination.status == .exited(code: code))
    #expect(termination.isSuccess == (code == 0))
    // A second wait, after it has been reaped, gets the same answer; signals then go nowhere.
    #expect(try await child.termination() == termination)
    try child.kill(SIGKILL)
    try child.killGroup(SIGKILL)
  }

  @Test("The signal that ended a child is told", arguments: [SIGKILL, SIGTERM, SIGSEGV])
  func signalled(signal: Int32) async throws {
    let child = try shell("kill -\(signal) $$")
    #expect(try await withTimeout { try await child.termination() }.status == .signaled(signal: signal))
  }

  @Test("The processor time and the memory a child used are told")
  func usage() async throws {
    let child = try shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    let termination = try await withTimeout { try await child.termination() }
    #expect(termination.userTime + termination.systemTime > .milliseconds(10))
    #expect(termination.maximumResidentSize > 100_000)
  }

  @Test("A program that can't be executed is an error, not an exit status")
  func missingProgram() throws {
    let error = #expect(throws: SystemError.self) { try ChildProcess.start(ChildLaunch(executable: "/no/such")) }
    #expect(error?.code == .noEntry)
    #expect(error?.subject == "/no/such")
    #expect(throws: SystemError.self) {
      try ChildProcess.start(ChildLaunch(executable: "/bin/true", arguments: ["a\0b"]))
    }
  }

  @Test("A child gets exactly the environment, directory, arguments and descriptors it is given")
  func cleanStart() async throws {
    let directory = try TemporaryDirectory()
    // Not closed on exec, as a careless library would leave it.
    let stray = Glibc.open("/dev/zero", O_RDONLY)
    let strays = (0..<20).map { _ in dup(stray) }
    defer { for number in strays + [stray] { close(number) } }
    let file = try FileDescriptor.inMemory(named: "given")
    let (text, termination) = try await output(
      of: ChildLaunch(
        executable: "/bin/sh",
        arguments: [
          "-c", "env; pwd; echo \"$@\"; exec /bin/ls -l /proc/self/fd", "x", "a b",
        ],
        environment: ["LANG": "C", "ONLY": "this"], descriptors: [7: file.number, 3: file.number],
        workingDirectory: directory.path))
    #expect(termination.isSuccess)
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.contains("ONLY=this"))
    #expect(!text.contains("PATH=") && !text.contains("HOME="))
    #expect(lines.contains(directory.path))
    #expect(lines.contains("a b"))
    // ls itself has the directory open which it lists.
    let targets = lines.compactMap { try? /([0-9]+) -> (.+)$/.firstMatch(in: $0)?.output }
      .filter { !$0.2.hasPrefix("/proc/") }
    let numbers = targets.compactMap { Int($0.1) }
    #expect(Set(numbers) == [0, 1, 2, 3, 7])
    #expect(targets.filter { $0.2 == "/dev/null" }.map(\.1) == ["0", "2"])
    #expect(!text.contains("/dev/zero"))
  }

  @Test("Descriptors can be crossed, and one can be given twice")
  func crossedDescriptors() async throws {
    let first = try FileDescriptor.inMemory(named: "first")
    let second = try FileDescriptor.inMemory(named: "second")
    let (text, _) = try await output(
      of: ChildLaunch(
        executable: "/bin/sh",
        arguments: ["-c", "for f in \(first.number) \(second.number) 0; do readlink /proc/self/fd/$f; done"],
        environment: ["PATH": "/bin:/usr/bin"],
        descriptors: [first.number: second.number, second.number: first.number, 0: first.number]))
    #expect(text.split(separator: "\n").map { $0.contains("second") } == [true, false, false])
  }

  @Test("A child starts with default signal handling and nothing blocked")
  func signals() async throws {
    signal(SIGPIPE, SIG_IGN)
    var blocked = sigset_t()
    var before = sigset_t()
    sigemptyset(&blocked)
    sigaddset(&blocked, SIGTERM)
    pthread_sigmask(SIG_BLOCK, &blocked, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    let (text, _) = try await output(
      of: ChildLaunch(executable: "/bin/grep", arguments: ["-E", "Sig(Blk|Ign)", "/proc/self/status"]))
    let masks = text.split(separator: "\n").map { UInt64($0.split(separator: "\t").last ?? "", radix: 16) }
    // posix_spawn leaves the two signals ignored that glibc keeps for itself.
    let reserved: UInt64 = 0b11 << 31
    #expect(masks.map { $0.map { $0 & ~reserved } } == [0, 0])
  }

  /// What comes through a pipe until nobody has it open for writing; fails where somebody keeps it open.
  private func rest(of pipe: consuming FileDescriptor) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      var waiting = pollfd(fd: pipe.number, events: Int16(POLLIN), revents: 0)
      try #require(poll(&waiting, 1, 10_000) == 1, "a process has the pipe still")
      var byte: UInt8 = 0
      if read(pipe.number, &byte, 1) != 1 { return bytes }
      bytes.append(byte)
    }
  }

  @Test("A child that hangs is killed at its deadline, with its whole group")
  func hang() async throws {
    let pipe = try FileDescriptor.pipe()
    // Both ignore the polite signal; the pipe ends only when the grandchild is dead too.
    let child = try shell("trap '' TERM; (trap '' TERM; echo; sleep 600) & wait", [1: pipe.second.number])
    let reader = try pipe.first.duplicate().relinquish()
    _ = consume pipe
    let outcome = try await withTimeout {
      try await child.termination(killingAt: .after(.milliseconds(200)), grace: .milliseconds(100))
    }
    #expect(outcome.wasKilled)
    #expect(outcome.termination.status == .signaled(signal: SIGKILL))
    #expect(try rest(of: FileDescriptor(owning: reader)).count <= 1)
  }

  @Test("A polite signal is enough for a child that heeds it")
  func politeStop() async throws {
    let child = try shell("exec sleep 600")
    let termination = try await withTimeout { try await child.stop(grace: .seconds(10)) }
    #expect(termination.status == .signaled(signal: SIGTERM))
  }

  @Test("What a child leaves behind in its group dies with it")
  func leftovers() async throws {
    let pipe = try FileDescriptor.pipe()
    let child = try shell("sleep 600 & exit 3", [1: pipe.second.number])
    let reader = try pipe.first.duplicate().relinquish()
    _ = consume pipe
    #expect(try await withTimeout { try await child.termination() }.status == .exited(code: 3))
    #expect(try rest(of: FileDescriptor(owning: reader)).isEmpty)
  }

  @Test("A wait that reaches its deadline leaves the child running")
  func waitDeadline() async throws {
    let child = try shell("exec sleep 600")
    let error = await #expect(throws: SystemError.self) {
      try await withTimeout { try await child.termination(by: .after(.milliseconds(50))) }
    }
    #expect(error?.code == .timedOut)
    #expect(kill(child.processID, 0) == 0)
    _ = try await child.stop(grace: .zero)
  }

  @Test("A cancelled wait ends at once and leaves the child running")
  func cancelledWait() async throws {
    let child = try shell("exec sleep 600")
    let waiting = Task { try await child.termination() }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await withTimeout { try await waiting.value } }
    #expect(kill(child.processID, 0) == 0)
    _ = try await child.stop(grace: .zero)
  }

  @Test("Many children at once are all reaped, waited for or not")
  func manyChildren() async throws {
    var children: [ChildProcess] = []
    var forgotten: [Int32] = []
    for index in 0..<40 {
      let child = try shell("exit \(index)")
      if index.isMultiple(of: 2) { children.append(child) } else { forgotten.append(child.processID) }
    }
    for (index, child) in children.enumerated() {
      let termination = try await withTimeout { try await child.termination() }
      #expect(termination.status == .exited(code: Int32(index * 2)))
    }
    // Reaping happens on one serial queue in the order of ends: one more child is an event after all of these.
    let last = try shell("exec sleep 0.2")
    _ = try await withTimeout { try await last.termination() }
    for processID in forgotten {
      // A zombie would still have its entry.
      #expect((try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8))?.contains(") Z ") != true)
    }
  }
}
