import Glibc
import ImageProtocol
import SystemSupport

/// The SHA-256 of a file, by OpenSSL: GLib's own is twenty times slower.
enum FileHash {
  /// Reads the whole file, whatever its position.
  ///
  /// - Returns: 64 digits of base 16.
  static func sha256(of descriptor: Int32) throws(ImageError) -> String {
    let hash = SHA256()
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 16)
    defer { block.deallocate() }
    var offset: off_t = 0
    while true {
      let count = pread(descriptor, block.baseAddress, block.count, offset)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw failure(String(cString: strerror(errno))) }
      if count == 0 { break }
      hash.add(UnsafeRawBufferPointer(rebasing: block[..<count]))
      offset += off_t(count)
    }
    return SHA256.digits(hash.finish())
  }

  private static func failure(_ reason: String) -> ImageError {
    ImageError(.damaged, "the hash of a file can't be made: \(reason)", permanent: false)
  }
}

/// Bytes from the middle of a file.
enum FileBytes {
  /// So many bytes from an offset; nil if there are fewer.
  static func read(_ descriptor: Int32, at offset: Int, count: Int) -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      used = max(0, pread(descriptor, buffer.baseAddress, count, off_t(offset)))
    }
    return bytes.count == count ? bytes : nil
  }
}
