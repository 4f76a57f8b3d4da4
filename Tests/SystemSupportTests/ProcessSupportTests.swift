import Dispatch
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite struct ProcessSupportTests {
  @Test("Signals arrive on the queue instead of ending the process")
  func signals() async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
    let source = try SignalSource([SIGUSR2, SIGHUP], queue: DispatchQueue(label: "signals")) { continuation.yield($0) }
    kill(getpid(), SIGUSR2)
    #expect(try await withTimeout { await stream.first { _ in true } } == SIGUSR2)
    kill(getpid(), SIGHUP)
    #expect(try await withTimeout { await stream.first { _ in true } } == SIGHUP)
    source.stop()
    source.stop()
    kill(getpid(), SIGUSR2)
  }

  @Test("A limit holds for this process from then on")
  func resourceLimits() async {
    await #expect(processExitsWith: .success) {
      signal(SIGXFSZ, SIG_IGN)
      try ResourceLimit.coreSize.set(0)
      try ResourceLimit.fileSize.set(1000)
      try #require(try ResourceLimit.fileSize.current() == 1000)
      let file = try FileDescriptor.inMemory(named: "limited")
      try file.truncate(to: 1000)
      let error = #expect(throws: SystemError.self) { try file.truncate(to: 1001) }
      try #require(error?.code == .fileTooLarge)
    }
  }

  @Test("The parent-death signal is set, and a parent that isn't the expected one is an error")
  func parentDeath() async {
    await #expect(processExitsWith: .success) {
      try ParentProcess.signalAtItsEnd(SIGTERM)
      try ParentProcess.signalAtItsEnd(SIGTERM, expected: getppid())
      let error = #expect(throws: SystemError.self) { try ParentProcess.signalAtItsEnd(SIGTERM, expected: 1 << 22) }
      try #require(error?.code == .noProcess)
    }
  }

  @Test("A process knows its own program")
  func executable() throws {
    let path = try Executable.ownPath()
    #expect(path.hasPrefix(try Executable.ownDirectory() + "/"))
    #expect(FileManager.default.isExecutableFile(atPath: path))
  }

  @Test("A deadline counts down to zero and no further")
  func deadlines() {
    #expect(Deadline.never.remaining == nil)
    #expect(!Deadline.never.hasPassed)
    let past = Deadline.at(.now.advanced(by: .seconds(-5)))
    #expect(past.remaining == .zero)
    #expect(past.hasPassed)
    let future = Deadline.after(.seconds(60))
    #expect(!future.hasPassed)
    #expect(future.remaining.map { $0 > .seconds(50) && $0 <= .seconds(60) } == true)
    #expect(Deadline.after(.seconds(Int64.max / 4)).dispatchTime > .now())
  }
}
