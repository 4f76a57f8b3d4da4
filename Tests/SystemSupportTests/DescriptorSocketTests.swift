import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite struct DescriptorSocketTests {
  @Test("Messages keep their limits and carry descriptors in order", arguments: [0, 1, 32])
  func descriptors(count: Int) throws {
    try withPair { left, right in
      var files: [Int32] = []
      for index in 0..<count {
        let file = try FileDescriptor.inMemory(named: "m")
        try file.writeAll(Data("\(index)".utf8))
        files.append(file.relinquish())
      }
      defer { for file in files { close(file) } }
      try left.send(Data("one".utf8), descriptors: files)
      try left.send(Data("two".utf8))
      guard var message = try right.receive(limit: 100, by: .after(.seconds(5))) else { throw Missing() }
      #expect(message.data == Data("one".utf8))
      #expect(message.descriptors.count == count)
      for index in 0..<count {
        guard let file = message.descriptors.popFirst() else { throw Missing() }
        #expect(fcntl(file.number, F_GETFD) & FD_CLOEXEC != 0)
        var byte = [UInt8](repeating: 0, count: 4)
        let length = try byte.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        #expect(String(decoding: byte.prefix(length), as: UTF8.self) == "\(index)")
      }
      #expect(message.descriptors.count == 0)
      if message.descriptors.popFirst() != nil { Issue.record("one descriptor too many") }
      #expect(try right.receive(limit: 3, by: .after(.seconds(5)))?.data == Data("two".utf8))
    }
  }

  @Test("Too many descriptors are an error on both sides, and what came is closed")
  func tooMany() throws {
    try withPair { left, right in
      let pipe = try FileDescriptor.pipe()
      let writer = pipe.second.number
      #expect(throws: SystemError.self) {
        try left.send(Data([1]), descriptors: Array(repeating: writer, count: 33))
      }
      try sendUnchecked(left.descriptor.number, descriptors: Array(repeating: writer, count: 40))
      let error = #expect(throws: SystemError.self) { _ = try right.receive(limit: 10, by: .after(.seconds(5))) }
      #expect(error?.code == .badMessage)
      try expectEnd(of: pipe)
    }
  }

  @Test("A message longer than the limit is an error, and its descriptors are closed")
  func tooLong() throws {
    try withPair { left, right in
      let pipe = try FileDescriptor.pipe()
      try left.send(Data(count: 11), descriptors: [pipe.second.number])
      let error = #expect(throws: SystemError.self) { _ = try right.receive(limit: 10, by: .after(.seconds(5))) }
      #expect(error?.code == .messageTooLong)
      try expectEnd(of: pipe)
    }
  }

  @Test("Descriptors nobody takes are closed with the message")
  func untaken() throws {
    try withPair { left, right in
      let pipe = try FileDescriptor.pipe()
      try left.send(Data([1]), descriptors: [pipe.second.number, pipe.second.number])
      _ = try right.receive(limit: 10, by: .after(.seconds(5)))
      try expectEnd(of: pipe)
    }
  }

  @Test("A closed peer is the end for the receiver and an error for the sender, not a signal")
  func closedPeer() throws {
    try FileDescriptor.socketPair(.sequencedPackets).split { left, right in
      let socket = DescriptorSocket(left)
      try right.close()
      let end = try socket.receive(limit: 10, by: .after(.seconds(5)))
      if end != nil { Issue.record("a message from a closed socket") }
      let error = #expect(throws: SystemError.self) { try socket.send(Data([1])) }
      #expect(error?.code == .brokenPipe)
    }
  }

  @Test("Receiving and sending give up at the deadline")
  func deadline() throws {
    try withPair { left, right in
      let begin = ContinuousClock.now
      #expect(
        #expect(throws: SystemError.self) {
          _ = try right.receive(limit: 10, by: .after(.milliseconds(60)))
        }?.code == .timedOut)
      #expect(ContinuousClock.now - begin >= .milliseconds(60))
      let error = #expect(throws: SystemError.self) {
        // The queue of an unread socket is finite.
        for _ in 0..<100_000 { try left.send(Data(count: 1000), by: .after(.milliseconds(60))) }
      }
      #expect(error?.code == .timedOut)
    }
  }

  private struct Missing: Error {}

  private func withPair(
    _ body: (borrowing DescriptorSocket, borrowing DescriptorSocket) throws -> Void
  ) throws {
    try FileDescriptor.socketPair(.sequencedPackets).split { left, right in
      try body(DescriptorSocket(left), DescriptorSocket(right))
    }
  }

  /// Closes our writing end; the reading end then ends only if all passed duplicates have been closed.
  private func expectEnd(of pipe: consuming DescriptorPair) throws {
    try pipe.split { reader, writer in
      try writer.close()
      try reader.setNonBlocking(true)
      #expect(try reader.readAll(limit: 10).isEmpty)
    }
  }

  /// Sends more descriptors than our own sender allows, as a foreign program can.
  private func sendUnchecked(_ socket: Int32, descriptors: [Int32]) throws {
    let size = descriptors.count * 4
    // One header of 16 bytes, then the numbers, padded to 8 bytes: cmsg(3) on 64-bit Linux.
    let control = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 + (size + 7) / 8 * 8, alignment: 16)
    defer { control.deallocate() }
    control.storeBytes(of: UInt(16 + size), toByteOffset: 0, as: UInt.self)
    control.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: Int32.self)
    control.storeBytes(of: 1, toByteOffset: 12, as: Int32.self)
    for (index, number) in descriptors.enumerated() {
      control.storeBytes(of: number, toByteOffset: 16 + index * 4, as: Int32.self)
    }
    var byte: UInt8 = 1
    try withUnsafeMutableBytes(of: &byte) { bytes in
      var vector = iovec(iov_base: bytes.baseAddress, iov_len: 1)
      try withUnsafeMutablePointer(to: &vector) { vector in
        var message = msghdr()
        message.msg_iov = vector
        message.msg_iovlen = 1
        message.msg_control = control.baseAddress
        message.msg_controllen = control.count
        try systemCall("sendmsg") { sendmsg(socket, &message, 0) }
      }
    }
  }
}
