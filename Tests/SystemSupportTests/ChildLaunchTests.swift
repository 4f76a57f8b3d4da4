import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite("The start of a child")
struct ChildLaunchTests {
  private func shell(_ script: String) -> ChildLaunch {
    ChildLaunch(
      executable: "/bin/sh", arguments: ["-c", script], environment: ["PATH": "/usr/bin:/bin"])
  }

  /// What a child writes to its standard output, and how it ends.
  private func output(of launch: ChildLaunch) async throws -> (lines: [String], status: Termination.Status) {
    let file = try FileDescriptor.inMemory(named: "output")
    var launch = launch
    launch.descriptors = [1: file.number]
    let child = try ChildProcess.start(launch)
    let termination = try await withTimeout { try await child.termination() }
    lseek(file.number, 0, SEEK_SET)
    let text = String(decoding: try file.readAll(limit: 1 << 20), as: UTF8.self)
    return (text.split(separator: "\n").map(String.init), termination.status)
  }

  @Test("It leads a session and a process group of its own")
  func session() async throws {
    let (lines, _) = try await output(of: shell("echo $$; cut -d' ' -f5,6 /proc/$$/stat"))
    #expect(lines.last == "\(lines[0]) \(lines[0])")
  }

  @Test("It gets the limits, the mask and the niceness that it is given")
  func limits() async throws {
    var launch = shell("ulimit -S -v; ulimit -S -f; ulimit -S -n; ulimit -S -t; ulimit -H -t; ulimit -c; umask; nice")
    launch.limits = [
      .addressSpace: 1 << 30, .fileSize: 1 << 20, .openFiles: 99, .processorTime: 7, .coreSize: 0,
    ]
    launch.fileModeMask = 0o137
    launch.niceness = 7
    let (lines, _) = try await output(of: launch)
    // Units are those of the shell: KiB, blocks of 512 bytes, files, seconds.
    #expect(lines == ["1048576", "2048", "99", "7", "8", "0", "0137", "7"])
  }

  @Test("A limit above the parent's own becomes that", .enabled(if: SkipReason.runsAsRoot()))
  func limitAboveOwn() async {
    await #expect(processExitsWith: .success) {
      try ResourceLimit.fileSize.set(1 << 20)
      try #require(setuid(65_534) == 0)
      var launch = ChildLaunch(executable: "/bin/sh", arguments: ["-c", "[ $(ulimit -H -f) = 2048 ]"])
      launch.limits = [.fileSize: 1 << 30]
      let child = try ChildProcess.start(launch)
      let termination = try await child.termination(by: .after(.seconds(20)))
      try #require(termination.isSuccess)
    }
  }

  @Test("It becomes another user with all groups, and can't come back", .enabled(if: SkipReason.runsAsRoot()))
  func otherUser() async throws {
    var launch = shell("id -u; id -g; id -G; grep NoNewPrivs /proc/$$/status; grep CapEff /proc/$$/status")
    let nobody = try #require(try UserAccount.find("nobody"))
    launch.user = nobody
    launch.diesWithParent = true
    launch.workingDirectory = "/"
    let (lines, _) = try await output(of: launch)
    #expect(lines == ["65534", "65534", "65534", "NoNewPrivs:\t1", "CapEff:\t0000000000000000"])
  }

  @Test("A user that there is not is no account")
  func unknownUser() throws {
    #expect(try UserAccount.find("no-such-user") == nil)
    #expect(try UserAccount.find("root")?.user == 0)
  }

  @Test("Processes with a mark in their environment are found and killed, wherever they have gone; others stay")
  func marked() async throws {
    let pipe = try FileDescriptor.pipe()
    let mark = "mark-\(UInt64.random(in: 0 ... .max))"
    var launch = shell("setsid sh -c 'sleep 600 & echo; wait' & read line")
    launch.environment["BOBBIN_TEST"] = mark
    launch.descriptors = [1: pipe.second.number]
    launch.killsGroupAtExit = false
    let child = try ChildProcess.start(launch)
    let other = try ChildProcess.start(ChildLaunch(executable: "/bin/sleep", arguments: ["600"]))
    let reader = try pipe.first.duplicate().relinquish()
    _ = consume pipe
    // Ends when every process of the three is dead that has the pipe open.
    let output = Task { try FileDescriptor(owning: reader).readAll(limit: 100) }
    _ = try await withTimeout { try await child.termination() }
    let count = try MarkedProcesses(variable: "BOBBIN_TEST", value: mark).kill(by: .after(.seconds(20)))
    #expect((1...2).contains(count))
    _ = try await withTimeout { try await output.value }
    #expect(try MarkedProcesses(variable: "BOBBIN_TEST", value: mark).kill(by: .after(.seconds(20))) == 0)
    #expect(kill(other.processID, 0) == 0)
    _ = try await other.stop(grace: .zero)
  }

  @Test("What can't be done is told with its call and its path, and leaves no process")
  func failure() throws {
    var launch = shell("true")
    launch.workingDirectory = "/no/such/folder"
    let error = #expect(throws: SystemError.self) { try ChildProcess.start(launch) }
    #expect(error?.call == "chdir")
    #expect(error?.subject == "/no/such/folder")
    #expect(error?.code == .noEntry)
    let missing = #expect(throws: SystemError.self) {
      try ChildProcess.start(ChildLaunch(executable: "/etc/passwd"))
    }
    #expect(missing?.call == "execve")
    #expect(missing?.code == .accessDenied)
    #expect(missing?.subject == "/etc/passwd")
  }
}
