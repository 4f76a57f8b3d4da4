import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite struct FileLockTests {
  @Test("A second lock is refused and told who holds the first; it is free when the first goes away")
  func exclusion() throws {
    let temporary = try TemporaryDirectory()
    let path = temporary.path("lock")
    do {
      let lock = try FileLock(path: path)
      let error = #expect(throws: SystemError.self) { _ = try FileLock(path: path) }
      #expect(error?.code == .wouldBlock)
      #expect(error?.hint == "process \(Credentials.processID) holds it")
      withExtendedLifetime(lock) {}
    }
    _ = try FileLock(path: path)
  }

  @Test("A lock whose holder is dead is waited for, until the last copy of its descriptor is closed")
  func deadHolder() async throws {
    let temporary = try TemporaryDirectory()
    let path = temporary.path("lock")
    let child = try ChildProcess.start(ChildLaunch(executable: "/bin/true"))
    _ = try await withTimeout { try await child.termination() }
    try Data("\(child.processID)\n".utf8).write(to: URL(filePath: path))
    let copy = try FileDescriptor.open(path).relinquish()
    try systemCall("flock") { flock(copy, LOCK_EX) }
    let waiting = Task {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<FileLock, any Error>) in
        Thread.detachNewThread { continuation.resume(with: Result { try FileLock(path: path) }) }
      }
    }
    close(copy)
    let lock = try await withTimeout { try await waiting.value }
    #expect(try String(contentsOfFile: lock.path, encoding: .utf8) == "\(Credentials.processID)\n")
  }

  @Test("A lock held by another process is refused until that process is killed")
  func otherProcess() async throws {
    let temporary = try TemporaryDirectory()
    let path = temporary.path("lock")
    let pipe = try FileDescriptor.pipe()
    let child = try ChildProcess.start(
      ChildLaunch(
        executable: "/bin/sh",
        arguments: ["-c", "echo $$ > \"$1\"; exec flock -x \"$1\" -c 'echo; exec sleep 600'", "sh", path],
        environment: ["PATH": "/usr/bin:/bin"], descriptors: [1: pipe.second.number]))
    let reader = pipe.first.number
    var byte: UInt8 = 0
    let count = try systemCall("read") { read(reader, &byte, 1) }
    #expect(count == 1)
    let error = #expect(throws: SystemError.self) { _ = try FileLock(path: path) }
    #expect(error?.code == .wouldBlock)
    #expect(error?.hint == "process \(child.processID) holds it")
    _ = try await child.stop(grace: .zero)
    // The end of the pipe says that the whole group, which shares the lock, has ended.
    _ = try pipe.split { reader, writer in
      try writer.close()
      return try reader.readAll(limit: 10)
    }
    _ = try FileLock(path: path)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "\(Credentials.processID)\n")
  }

  @Test("A symbolic link is not followed")
  func symbolicLink() throws {
    let temporary = try TemporaryDirectory()
    symlink(temporary.path("victim"), temporary.path("lock"))
    #expect(#expect(throws: SystemError.self) { _ = try FileLock(path: temporary.path("lock")) }?.code == .symbolicLink)
    #expect(try !temporary.open().contains("victim"))
  }
}
