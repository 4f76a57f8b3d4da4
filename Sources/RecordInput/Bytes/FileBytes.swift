import SystemSupport

/// The bytes of a file as they lie on disk.
final class FileBytes: ByteStream {
  let file: FileDescriptor
  /// Where the next read begins.
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
