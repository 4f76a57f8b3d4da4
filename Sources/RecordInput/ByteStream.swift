import SystemSupport

/// Bytes in the order of an input, from a file or made of another stream's.
protocol ByteStream: AnyObject {
  /// Writes the next bytes to the front of `buffer`, which is not empty, and returns their number; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int
}

extension ByteStream {
  /// Reads until `buffer` is full or the end comes.
  func readFully(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    var filled = 0
    while filled < buffer.count {
      let count = try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
      if count == 0 { break }
      filled += count
    }
    return filled
  }

  /// Skips a number of bytes.
  func skip(_ count: Int) throws(InputError) {
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: min(count, 1 << 18) + 1, alignment: 16)
    defer { scratch.deallocate() }
    var left = count
    while left > 0 {
      let read = try read(into: UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(left, scratch.count)]))
      if read == 0 { throw InputError("it ends before the place to continue from; it was truncated") }
      left -= read
    }
  }
}

/// The bytes of a file as they lie on disk.
final class FileBytes: ByteStream {
  let file: FileDescriptor
  /// The offset of the next read.
  var offset: Int64 = 0

  init(_ file: consuming FileDescriptor) { self.file = file }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    do throws(SystemError) {
      let count = try file.read(into: buffer, at: offset)
      offset += Int64(count)
      return count
    } catch {
      throw InputError(error)
    }
  }
}

/// The bytes of another stream up to a limit, since a small archive may unpack to any size.
final class LimitedBytes: ByteStream {
  private let source: any ByteStream
  private let limit: Int
  private var count = 0

  init(_ source: any ByteStream, limit: Int) {
    self.source = source
    self.limit = limit
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    let read = try source.read(into: buffer)
    count += read
    if count > limit {
      throw InputError("it unpacks to more than \(limit) bytes; [Import] MaxUnpackedSize allows no more")
    }
    return read
  }
}

/// The reason why an input can't be read any further.
package struct InputError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The error and the remedy, without the input's name.
  package var description: String
  /// True if another attempt would fail in the same way.
  package var isLasting: Bool

  package init(_ description: String, isLasting: Bool = true) {
    self.description = description
    self.isLasting = isLasting
  }

  init(_ error: SystemError) { self.init("\(error)", isLasting: error.isLasting) }
}
