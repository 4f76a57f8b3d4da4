internal import Glibc
internal import ImageProtocol

/// A copy of the input that nobody can write to any more, so that what is kept for others belongs to the input's hash.
enum InputCopy {
  /// Copies inside the kernel, and hashes the copy.
  ///
  /// - Parameters:
  ///   - target: an empty file.
  ///   - expected: what the input was when its hash was made.
  static func make(of input: Int32, in target: Int32, expected: ImageReply.Input) throws(ImageError) {
    var offset: off_t = 0
    while offset < expected.bytes {
      let count = sendfile(target, input, &offset, expected.bytes - offset)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else {
        throw ImageError(
          .output, "the input can't be copied for reuse: \(String(cString: strerror(errno)))", permanent: false)
      }
      if count == 0 { break }
    }
    lseek(target, 0, SEEK_SET)
    guard offset == expected.bytes, try FileHash.sha256(of: target) == expected.sha256 else {
      throw ImageError(.inputChanged, "the input was changed while it was read", permanent: false)
    }
  }
}
