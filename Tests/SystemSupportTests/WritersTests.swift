import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite("Who is writing to a file")
struct WritersTests {
  private let temporary: TemporaryDirectory
  private let path: String

  init() throws {
    temporary = try TemporaryDirectory()
    path = temporary.path("file")
    try Data("x".utf8).write(to: URL(filePath: path))
  }

  @Test("An open writer is seen until it closes, whatever has become of the file's name")
  func open() throws {
    let writer = try FileDescriptor.open(path, .writing)
    let reader = try FileDescriptor.open(path)
    #expect(try reader.excludeWriters() == .some)
    try #require(rename(path, temporary.path("other")) == 0)
    #expect(try reader.excludeWriters() == .some)
    try #require(unlink(temporary.path("other")) == 0)
    #expect(try reader.excludeWriters() == .some)
    try writer.close()
    // A child that another test starts has it until its program begins.
    let deadline = ContinuousClock.now + .seconds(30)
    while try reader.excludeWriters() == .some { try #require(ContinuousClock.now < deadline) }
    #expect(try reader.excludeWriters() == .none)
  }

  @Test("A writer that comes while a file is read waits, or is told to; the reader is not ended by the kernel's signal")
  func excluded() throws {
    let reader = try FileDescriptor.open(path)
    #expect(try reader.excludeWriters() == .none)
    #expect(Glibc.open(path, O_WRONLY | O_NONBLOCK) == -1 && errno == EWOULDBLOCK)
    try reader.close()
    #expect(try FileDescriptor.open(path, .writing).status().size == 1)
  }
}
