import CLinux
package import struct Foundation.Data
import Glibc

extension FileDescriptor {
  /// Reads once into `buffer`.
  ///
  /// - Returns: The bytes read, fewer than asked for is normal, 0 at the end.
  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
    try systemCall("read", subject) { Glibc.read(number, buffer.baseAddress, buffer.count) }
  }

  /// Reads once from a position, leaving the file's own position alone.
  ///
  /// - Returns: The bytes read, fewer than asked for is normal, 0 at the end.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
    try systemCall("pread", subject) { pread(number, buffer.baseAddress, buffer.count, off_t(offset)) }
  }

  /// The first bytes of a file, leaving its position alone; fewer if it is shorter.
  package func start(upTo count: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let outcome = bytes.withUnsafeMutableBytes { buffer in
      Swift.Result { () throws(SystemError) -> Int in try read(into: buffer, at: 0) }
    }
    return Array(bytes.prefix(try outcome.get()))
  }

  /// Reads from the current position to the end.
  ///
  /// The limit holds whatever the file's size claims to be: it may grow meanwhile, or be a pipe.
  ///
  /// - Parameter limit: The most bytes accepted.
  /// - Throws: ``SystemError/Code/fileTooLarge`` when there is more.
  package func readAll(limit: Int) throws(SystemError) -> Data {
    precondition(limit >= 0, "a limit can't be negative")
    let expected = Int(clamping: try status().size)
    var content = Data()
    // One byte more than expected finds the end of an unchanged file without growing.
    var capacity = min(max(expected, 4095), limit) + 1
    while true {
      let filled = content.count
      content.count = capacity
      let outcome = content.withUnsafeMutableBytes { buffer in
        Swift.Result { () throws(SystemError) -> Int in
          try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
        }
      }
      let count = try outcome.get()
      content.count = filled + count
      if count == 0 { return content }
      if content.count > limit {
        throw SystemError(
          .fileTooLarge, call: "read", subject: subject, hint: "at most \(limit) bytes are accepted")
      }
      if content.count == capacity { capacity = min(capacity * 2, limit + 1) }
    }
  }
}

extension FileDescriptor {
  /// Locks the file until all descriptors of this open file are closed; false if another one has it locked.
  package func lock() throws(SystemError) -> Bool {
    do throws(SystemError) {
      try systemCall("flock", subject) { flock(number, LOCK_EX | LOCK_NB) }
      return true
    } catch {
      if error.code == .wouldBlock { return false }
      throw error
    }
  }

  /// Writes once.
  ///
  /// - Returns: The bytes written, which may be fewer than given on pipes, sockets and a full disk.
  package func write(_ buffer: UnsafeRawBufferPointer) throws(SystemError) -> Int {
    try systemCall("write", subject) { Glibc.write(number, buffer.baseAddress, buffer.count) }
  }

  /// Writes all bytes, in as many calls as it takes.
  ///
  /// - Throws: The first error; how much was written before it is unknown. SIGPIPE must be ignored to get EPIPE.
  package func writeAll(_ buffer: UnsafeRawBufferPointer) throws(SystemError) {
    var rest = buffer
    while !rest.isEmpty {
      let count = try write(rest)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
  }

  /// Writes all bytes, in as many calls as it takes.
  package func writeAll(_ data: Data) throws(SystemError) {
    let outcome = data.withUnsafeBytes { buffer in
      Swift.Result { () throws(SystemError) in try writeAll(buffer) }
    }
    try outcome.get()
  }
}
