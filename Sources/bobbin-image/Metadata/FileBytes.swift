internal import Glibc

/// Bytes from the middle of a file.
enum FileBytes {
  /// So many bytes from an offset; nil if there are fewer.
  static func read(_ descriptor: Int32, _ offset: Int, _ count: Int) -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      used = max(0, pread(descriptor, buffer.baseAddress, count, off_t(offset)))
    }
    return bytes.count == count ? bytes : nil
  }
}
