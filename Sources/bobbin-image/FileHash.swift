import CCrypto
import Glibc
import ImageProtocol

/// The SHA-256 of a file, by OpenSSL, which libvips brings along: GLib's own is twenty times slower.
enum FileHash {
  /// Reads the whole file, whatever its position.
  ///
  /// - Returns: 64 digits of base 16.
  static func sha256(of descriptor: Int32) throws(ImageError) -> String {
    guard let context = EVP_MD_CTX_new() else { throw failure("no memory") }
    defer { EVP_MD_CTX_free(context) }
    guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else { throw failure("SHA-256 is not available") }
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 16)
    defer { block.deallocate() }
    var offset: off_t = 0
    while true {
      let count = pread(descriptor, block.baseAddress, block.count, offset)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw failure(String(cString: strerror(errno))) }
      if count == 0 { break }
      EVP_DigestUpdate(context, block.baseAddress, count)
      offset += off_t(count)
    }
    var digest = [UInt8](repeating: 0, count: 32)
    guard EVP_DigestFinal_ex(context, &digest, nil) == 1 else { throw failure("OpenSSL gives none") }
    return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
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
