internal import Glibc
internal import ImageProtocol

/// The files of one output: the first is written, the others get the same bytes without anybody seeing them.
struct OutputFiles {
  private let descriptors: [Int32]
  private let position: Int

  init(_ descriptors: some Sequence<Int32>, position: Int) {
    self.descriptors = Array(descriptors)
    self.position = position
  }

  /// Refuses descriptors that can't take an output.
  func check() throws(ImageError) {
    for descriptor in descriptors {
      let flags = fcntl(descriptor, F_GETFL)
      guard flags >= 0, flags & O_ACCMODE != O_RDONLY else {
        throw ImageError(.output, "output \(position) is not open for writing", permanent: true)
      }
    }
  }

  /// Writes what was encoded in memory to the first file.
  func write(_ bytes: [UInt8]) throws(ImageError) {
    let outcome = bytes.withUnsafeBytes { bytes in
      Result { () throws(ImageError) in
        var rest = bytes
        while !rest.isEmpty {
          let count = Glibc.write(descriptors[0], rest.baseAddress, rest.count)
          if count < 0 && errno == EINTR { continue }
          guard count >= 0 else { throw failure("be written") }
          rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
      }
    }
    try outcome.get()
  }

  /// Drops the EXIF data that libvips gave the first file, a WebP.
  func dropEXIF() throws(ImageError) {
    guard WebPFile.dropEXIF(from: descriptors[0]) else { throw failure("be written") }
  }

  /// Copies the first file to the others, and looks at what was written.
  func finish() throws(ImageError) -> (bytes: Int, sha256: String) {
    for other in descriptors.dropFirst() { try copy(descriptors[0], to: other) }
    var status = stat()
    guard fstat(descriptors[0], &status) == 0 else { throw failure("be looked at") }
    return (status.st_size, try FileHash.sha256(of: descriptors[0]))
  }

  /// Makes every file the same as another one.
  func copy(of source: Int32) throws(ImageError) {
    for descriptor in descriptors { try copy(source, to: descriptor) }
  }

  private func copy(_ source: Int32, to target: Int32) throws(ImageError) {
    var offset: off_t = 0
    while true {
      let count = sendfile(target, source, &offset, 1 << 30)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw failure("be copied to") }
      if count == 0 { return }
    }
  }

  private func failure(_ what: String) -> ImageError {
    let code = errno
    if code == EFBIG { return .outputTooLarge }
    return ImageError(
      .output, "output \(position) can't \(what): \(String(cString: strerror(code)))", permanent: false)
  }
}

extension ImageError {
  static let outputTooLarge = ImageError(
    .tooLarge, "an output grows beyond the largest file the helper may write", permanent: true)
}
