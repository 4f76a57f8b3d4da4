import CLinux
package import struct Foundation.Data
import Glibc

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
