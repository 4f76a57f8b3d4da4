import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite struct FileDescriptorTests {
  @Test("What is written is read back, whole and by position")
  func writeAndRead() throws {
    let directory = try TemporaryDirectory()
    let file = try FileDescriptor.open(directory.path("f"), .creatingExclusively, mode: 0o640)
    try file.writeAll(Data("hello world".utf8))
    try file.synchronize()
    let status = try file.status()
    #expect(status.kind == .regular)
    #expect(status.size == 11)
    #expect(status.linkCount == 1)
    #expect(status.owner == Credentials.effectiveUser)
    #expect(abs(Double(status.modificationTime) / 1e9 - Date().timeIntervalSince1970) < 60)
    var five = [UInt8](repeating: 0, count: 5)
    let count = try five.withUnsafeMutableBytes { try file.read(into: $0, at: 6) }
    #expect(count == 5)
    #expect(String(decoding: five, as: UTF8.self) == "world")
    try file.truncate(to: 5)
    #expect(try FileDescriptor.open(directory.path("f")).readAll(limit: 100) == Data("hello".utf8))
    try file.close()
  }

  @Test("A read of an empty pipe fails at once while the pipe does not block, and that can be taken back")
  func blocking() throws {
    let pipe = try FileDescriptor.pipe()
    try pipe.first.setNonBlocking(true)
    var byte = [UInt8](repeating: 0, count: 1)
    let error = #expect(throws: SystemError.self) { try byte.withUnsafeMutableBytes { try pipe.first.read(into: $0) } }
    #expect(error?.code == .wouldBlock)
    try pipe.first.setNonBlocking(false)
    let flags = fcntl(pipe.first.number, F_GETFL)
    #expect(flags & O_NONBLOCK == 0)
    // This also keeps the pipe open until here.
    try pipe.second.writeAll(Data([7]))
    #expect(try byte.withUnsafeMutableBytes { try pipe.first.read(into: $0) } == 1)
  }

  @Test("A duplicate is the same open file, and no child inherits it")
  func duplicate() throws {
    let directory = try TemporaryDirectory()
    let file = try FileDescriptor.open(directory.path("f"), .creatingExclusively)
    let copy = try file.duplicate()
    let flags = fcntl(copy.number, F_GETFD)
    #expect(flags & FD_CLOEXEC == FD_CLOEXEC)
    // This also keeps the copy open until here.
    #expect(try copy.status().isSameFile(as: file.status()) && copy.number != file.number)
  }

  @Test("A file as large as the limit is read, one byte more is refused", arguments: [0, 1, 4095, 4096, 70_000])
  func limit(size: Int) throws {
    let directory = try TemporaryDirectory()
    let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0) })
    try content.write(to: directory.url.appending(path: "f"))
    #expect(try FileDescriptor.open(directory.path("f")).readAll(limit: size) == content)
    #expect(try FileDescriptor.open(directory.path("f")).readAll(limit: size + 10_000) == content)
    guard size > 0 else { return }
    let error = #expect(throws: SystemError.self) {
      try FileDescriptor.open(directory.path("f")).readAll(limit: size - 1)
    }
    #expect(error?.code == .fileTooLarge)
  }

  @Test("The limit holds for a pipe, whose size is unknown")
  func pipeLimit() throws {
    let pipe = try FileDescriptor.pipe()
    try pipe.second.writeAll(Data(count: 5000))
    let error = #expect(throws: SystemError.self) { try pipe.first.readAll(limit: 4999) }
    #expect(error?.code == .fileTooLarge)
  }

  @Test("Errors name the file, also under a new name, and what has none by its kind")
  func subjects() throws {
    let full = try FileDescriptor.open("/dev/full", .writing)
    let write = #expect(throws: SystemError.self) { try full.writeAll(Data(count: 1)) }
    #expect(write?.description == "write \"/dev/full\": No space left on device (ENOSPC)")
    let directory = try TemporaryDirectory()
    let file = try FileDescriptor.open(directory.path("old"), .creatingExclusively)
    try FileManager.default.moveItem(atPath: directory.path("old"), toPath: directory.path("new"))
    let truncate = #expect(throws: SystemError.self) { try file.truncate(to: -1) }
    #expect(truncate?.subject == directory.path("new"))
    let pipe = try FileDescriptor.pipe()
    let synchronize = #expect(throws: SystemError.self) { try pipe.second.synchronize() }
    #expect(synchronize?.subject?.hasPrefix("pipe:[") == true)
  }

  @Test("A descriptor is closed when its owner goes away, and survives being taken")
  func ownership() throws {
    var number: Int32 = -1
    do {
      let file = try FileDescriptor.null()
      number = file.number
      #expect(isOpen(number))
    }
    // Other tests open files meanwhile, so ask what the number means now, not only whether it is open.
    #expect(!isOpen(number) || target(of: number) != "/dev/null")
    let taken = try FileDescriptor.inMemory(named: "taken-by-test").relinquish()
    #expect(target(of: taken)?.contains("taken-by-test") == true)
    let owner = FileDescriptor(owning: taken)
    let copy = try owner.duplicate()
    #expect(copy.number != owner.number)
    #expect(target(of: copy.number)?.contains("taken-by-test") == true)
  }

  private func isOpen(_ number: Int32) -> Bool {
    target(of: number) != nil
  }

  private func target(of number: Int32) -> String? {
    try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
  }
}
