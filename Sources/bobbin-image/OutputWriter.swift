import CVIPS
import Glibc
import ImageProtocol

/// Encodes one output into its files.
struct OutputWriter {
  let output: ImageOutput
  /// The output's number in the request, from 1, for messages.
  let position: Int
  /// The frames that lie one below the other in its picture.
  let pages: Int
  /// The author and the copyright that the input names.
  let authorship: Authorship?
  /// True if the picture's colour profile, if it has one, is of use.
  let hasProfile: Bool

  func write(_ picture: Picture, to files: [Int32]) throws(ImageError) -> ImageReply.Output {
    guard let first = files.first else { throw .invalidRequest("output \(position) came without a file") }
    let prepared = try prepare(picture)
    let quality: Int?
    if let maxBytes = output.maxBytes {
      quality = try writeFitting(prepared, maxBytes: maxBytes, to: first)
    } else {
      try encode(prepared, quality: output.chosenQuality, into: try EncodingTarget(descriptor: first))
      if losesEXIF(prepared) { try OutputFiles(files, position: position).dropEXIF() }
      quality = nil
    }
    let finished = try OutputFiles(files, position: position).finish()
    return ImageReply.Output(
      format: output.format, width: prepared.width, height: prepared.height / pages, pages: pages,
      bytes: finished.bytes, sha256: finished.sha256, quality: quality)
  }

  private var kept: [ImageMetadata] { output.metadata + (output.keepsColours ? [.icc] : []) }

  /// The picture in the colours, and with the metadata, that are to be written.
  private func prepare(_ picture: Picture) throws(ImageError) -> Picture {
    var picture = try picture.inScreenColours()
    let background = output.background ?? .white
    if output.isAlwaysOpaque || output.background != nil && background.isOpaque {
      picture = try picture.flattened(on: background)
    }
    return try picture.keeping(kept, in: output.format, hasProfile: hasProfile, authorship)
  }

  /// True if the encoder adds EXIF data that was not asked for.
  private func losesEXIF(_ picture: Picture) -> Bool { output.format == .webp && !picture.hasEXIFData }

  private func encode(_ picture: Picture, quality: Int, into target: EncodingTarget) throws(ImageError) {
    guard let saver = output.format.saverClass else {
      throw .invalidRequest("format \"\(output.format.rawValue)\" can't be written")
    }
    var call = try VipsCall(saver)
    call.set("in", picture.reference)
    call.set("target", target.reference)
    for (name, value) in output.saverOptions(quality: quality) { try call.set(name, value) }
    if pages > 1 { try call.set("page-height", String(picture.height / pages)) }
    try call.set("strip", String(kept.isEmpty))
    VipsLibrary.forgetFailure()
    try call.run()
    // After a damaged strip at the very end no further call fails.
    try VipsLibrary.checkNotes()
  }

  /// Writes the file of the best quality that is small enough, found by halving the range of qualities.
  ///
  /// - Returns: that quality.
  private func writeFitting(_ picture: Picture, maxBytes: Int, to file: Int32) throws(ImageError) -> Int {
    let picture = try picture.inMemory()
    func encoded(_ quality: Int) throws(ImageError) -> [UInt8] {
      let target = try EncodingTarget.inMemory()
      try encode(picture, quality: quality, into: target)
      let bytes = target.withBytes { Array($0) }
      return losesEXIF(picture) ? WebPFile.withoutEXIF(bytes) : bytes
    }
    let best = output.chosenQuality
    var found = (quality: best, bytes: try encoded(best))
    if found.bytes.count > maxBytes {
      found = (1, try encoded(1))
      guard found.bytes.count <= maxBytes else {
        throw ImageError(
          .tooLarge,
          "output \(position) takes \(found.bytes.count) bytes even at quality 1; maxBytes is \(maxBytes): "
            + "allow more, or make the picture smaller", permanent: true)
      }
      var tooGood = best
      // What fills the size to a twentieth is good enough: each step costs an encoding.
      while tooGood - found.quality > 1, found.bytes.count < maxBytes - maxBytes / 20 {
        let middle = (found.quality + tooGood) / 2
        let bytes = try encoded(middle)
        if bytes.count <= maxBytes { found = (middle, bytes) } else { tooGood = middle }
      }
    }
    try OutputFiles([file], position: position).write(found.bytes)
    return found.quality
  }
}

/// The files of one output: the first is written, the others get the same bytes without anybody seeing them.
struct OutputFiles {
  private let descriptors: [Int32]
  private let position: Int

  init(_ descriptors: some Sequence<Int32>, position: Int) {
    self.descriptors = Array(descriptors)
    self.position = position
  }

  /// Throws for descriptors that can't be written to.
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

  /// Copies the first file to the others, and returns size and hash.
  func finish() throws(ImageError) -> (bytes: Int, sha256: String) {
    for other in descriptors.dropFirst() { try copy(descriptors[0], to: other) }
    var status = stat()
    guard fstat(descriptors[0], &status) == 0 else { throw failure("be looked at") }
    return (status.st_size, try FileHash.sha256(of: descriptors[0]))
  }

  /// Copies another file to every file.
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
