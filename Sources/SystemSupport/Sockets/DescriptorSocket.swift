import CLinux
package import struct Foundation.Data
import Glibc

/// One end of a connection that carries whole messages, each with up to 32 open descriptors.
///
/// Sending and receiving block their thread: not for the cooperative pool.
package struct DescriptorSocket: ~Copyable, Sendable {
  /// The most descriptors in one message.
  package static let maximumDescriptorCount = 32

  package let descriptor: FileDescriptor

  /// Takes ownership of one end of a `FileDescriptor.socketPair(.sequencedPackets)`, as a child does with the number it was given.
  package init(_ descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  /// Sends one message.
  ///
  /// - Parameters:
  ///   - data: Not empty, since an empty message looks like the end.
  ///   - descriptors: The receiver gets duplicates; the sender keeps its own.
  ///   - deadline: How long to wait for room.
  /// - Throws: ``SystemError/Code/brokenPipe`` when the other end is closed (there is no SIGPIPE).
  package func send(
    _ data: Data, descriptors: [Int32] = [], by deadline: Deadline = .never
  ) throws(SystemError) {
    guard !data.isEmpty, descriptors.count <= Self.maximumDescriptorCount else {
      throw SystemError(
        .invalidArgument, call: "sendmsg",
        hint: "a message needs data and at most \(Self.maximumDescriptorCount) descriptors")
    }
    while true {
      do {
        return try Self.send(data, descriptors: descriptors, over: descriptor.number)
      } catch  where error.code == .wouldBlock {
        try descriptor.wait(for: Int16(POLLOUT), by: deadline)
      }
    }
  }

  /// Receives one message.
  ///
  /// - Parameters:
  ///   - limit: The most bytes accepted.
  ///   - deadline: How long to wait for it.
  /// - Returns: Nil when the other end is closed.
  /// - Throws: ``SystemError/Code/messageTooLong`` for more bytes, ``SystemError/Code/badMessage`` for more descriptors
  ///   than can be received, ``SystemError/Code/timedOut``. A refused message is lost and its descriptors are closed.
  package func receive(limit: Int, by deadline: Deadline = .never) throws(SystemError) -> DescriptorMessage? {
    precondition(limit > 0, "a message has at least one byte")
    while true {
      try descriptor.wait(for: Int16(POLLIN), by: deadline)
      do throws(SystemError) {
        guard let message = try Self.receive(from: descriptor.number, limit: limit) else { return nil }
        guard message.isWhole else {
          throw SystemError(
            .badMessage, call: "recvmsg", hint: "at most \(Self.maximumDescriptorCount) descriptors are accepted")
        }
        return message
      } catch  where error.code == .wouldBlock {
        // Another thread received the message.
        continue
      }
    }
  }

  /// Sends bytes with descriptors over a Unix socket that somebody else owns.
  ///
  /// - Throws: ``SystemError/Code/wouldBlock`` if there is no room.
  package static func send(
    _ data: Data, descriptors: [Int32], over number: Int32
  ) throws(SystemError) {
    let size = descriptors.count * MemoryLayout<Int32>.size
    let control = UnsafeMutableRawBufferPointer.allocate(byteCount: linux_cmsg_space(size), alignment: 16)
    defer { control.deallocate() }
    control.initializeMemory(as: UInt8.self, repeating: 0)
    let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
    let outcome = data.withUnsafeBytes { bytes in
      var vector = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
      return withUnsafeMutablePointer(to: &vector) { vector in
        var message = msghdr()
        message.msg_iov = vector
        message.msg_iovlen = 1
        if !descriptors.isEmpty {
          message.msg_control = control.baseAddress
          message.msg_controllen = control.count
        }
        if let header = linux_cmsg_first(&message), let body = linux_cmsg_data(header) {
          header.pointee.cmsg_level = SOL_SOCKET
          header.pointee.cmsg_type = Int32(SCM_RIGHTS)
          header.pointee.cmsg_len = linux_cmsg_length(size)
          descriptors.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: body, count: size).copyMemory(from: $0) }
        }
        return Swift.Result { () throws(SystemError) -> Void in
          try systemCall("sendmsg") { sendmsg(number, &message, flags) }
        }
      }
    }
    try outcome.get()
  }

  /// Returns the next bytes of a stream socket with the first of their descriptors, and leaves the bytes there.
  ///
  /// - Throws: ``SystemError/Code/wouldBlock`` if there are none yet.
  package static func peek(
    _ socket: borrowing FileDescriptor, limit: Int
  ) throws(SystemError) -> DescriptorMessage? {
    try receive(from: socket.number, limit: limit, flags: Int32(MSG_PEEK))
  }

  private static func receive(
    from number: Int32, limit: Int, flags: Int32 = 0
  ) throws(SystemError) -> DescriptorMessage? {
    let space = linux_cmsg_space(maximumDescriptorCount * MemoryLayout<Int32>.size)
    let control = UnsafeMutableRawBufferPointer.allocate(byteCount: space, alignment: 16)
    defer { control.deallocate() }
    var data = Data(count: limit)
    var message = msghdr()
    let flags = flags | Int32(MSG_CMSG_CLOEXEC) | Int32(MSG_DONTWAIT)
    let outcome = data.withUnsafeMutableBytes { bytes in
      var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
      return withUnsafeMutablePointer(to: &vector) { vector in
        message.msg_iov = vector
        message.msg_iovlen = 1
        message.msg_control = control.baseAddress
        message.msg_controllen = control.count
        return Swift.Result { () throws(SystemError) -> Int in
          try systemCall("recvmsg") { recvmsg(number, &message, flags) }
        }
      }
    }
    let count = try outcome.get()
    // Owns the descriptors from here on, so that every way out closes them.
    let descriptors = descriptors(in: &message)
    if message.msg_flags & Int32(MSG_TRUNC) != 0 {
      throw SystemError(.messageTooLong, call: "recvmsg", hint: "at most \(limit) bytes are accepted")
    }
    if count == 0 { return nil }
    data.count = count
    let isWhole = message.msg_flags & Int32(MSG_CTRUNC) == 0
    return DescriptorMessage(data: data, descriptors: descriptors, isWhole: isWhole)
  }

  private static func descriptors(in message: inout msghdr) -> ReceivedDescriptors {
    var numbers: [Int32] = []
    var next = linux_cmsg_first(&message)
    while let header = next {
      if header.pointee.cmsg_level == SOL_SOCKET, header.pointee.cmsg_type == Int32(SCM_RIGHTS),
        let body = linux_cmsg_data(header)
      {
        let size = Int(header.pointee.cmsg_len) - Int(linux_cmsg_length(0))
        for offset in stride(from: 0, through: size - MemoryLayout<Int32>.size, by: MemoryLayout<Int32>.size) {
          numbers.append(body.loadUnaligned(fromByteOffset: offset, as: Int32.self))
        }
      }
      next = linux_cmsg_next(&message, header)
    }
    return ReceivedDescriptors(owning: numbers)
  }
}

/// A message that came through a ``DescriptorSocket``.
package struct DescriptorMessage: ~Copyable, Sendable {
  package let data: Data
  /// In the order they were sent.
  package var descriptors: ReceivedDescriptors
  /// False if there were more descriptors than are received, and the kernel has dropped the rest.
  package let isWhole: Bool

  /// Leaves the descriptors only.
  package consuming func relinquishDescriptors() -> ReceivedDescriptors { descriptors }
}

/// Descriptors that came with a message; the rest are closed with it.
package struct ReceivedDescriptors: ~Copyable, Sendable {
  private var numbers: ArraySlice<Int32>

  package init(owning numbers: [Int32]) {
    self.numbers = numbers[...]
  }

  /// Gives up the ownership of all that are left.
  package consuming func relinquish() -> [Int32] {
    let left = Array(numbers)
    numbers = []
    return left
  }

  deinit {
    for number in numbers { _ = close(number) }
  }

  /// The number of descriptors that are left.
  package var count: Int { numbers.count }

  /// Returns the next one in the order they were sent, or nil when none is left.
  package mutating func popFirst() -> FileDescriptor? {
    guard let number = numbers.popFirst() else { return nil }
    return FileDescriptor(owning: number)
  }
}
