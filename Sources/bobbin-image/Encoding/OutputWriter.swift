internal import ImageProtocol

/// Encodes one output into its files.
struct OutputWriter {
  let output: ImageOutput
  /// The output's number in the request, from 1, for messages.
  let position: Int
  /// The frames that lie one below the other in its picture.
  let pages: Int
  /// What the input says about who made it.
  let authorship: Authorship?

  func write(_ picture: Picture, to files: [Int32]) throws(ImageError) -> ImageReply.Output {
    guard let first = files.first else { throw .invalidRequest("output \(position) came without a file") }
    let prepared = try prepare(picture)
    let quality: Int?
    if let maxBytes = output.maxBytes {
      quality = try writeFitting(prepared, maxBytes: maxBytes, to: first)
    } else {
      try encode(prepared, quality: output.chosenQuality, into: try EncodingTarget(descriptor: first))
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
    return try picture.keeping(kept, authorship)
  }

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
    // After a damaged strip at the very end nothing comes to fail.
    try VipsLibrary.checkNotes()
  }

  /// Writes the file of the best quality that is small enough, found by halving the range of qualities.
  ///
  /// - Returns: that quality.
  private func writeFitting(_ picture: Picture, maxBytes: Int, to file: Int32) throws(ImageError) -> Int {
    let picture = try picture.inMemory()
    func encoded(_ quality: Int) throws(ImageError) -> EncodingTarget {
      let target = try EncodingTarget.inMemory()
      try encode(picture, quality: quality, into: target)
      return target
    }
    let best = output.chosenQuality
    var found = (quality: best, target: try encoded(best))
    if found.target.byteCount > maxBytes {
      found = (1, try encoded(1))
      guard found.target.byteCount <= maxBytes else {
        throw ImageError(
          .tooLarge,
          "output \(position) takes \(found.target.byteCount) bytes even at quality 1; maxBytes is \(maxBytes): "
            + "allow more, or make the picture smaller", permanent: true)
      }
      var tooGood = best
      // What fills the size to a twentieth is good enough: each step costs an encoding.
      while tooGood - found.quality > 1, found.target.byteCount < maxBytes - maxBytes / 20 {
        let middle = (found.quality + tooGood) / 2
        let target = try encoded(middle)
        if target.byteCount <= maxBytes { found = (middle, target) } else { tooGood = middle }
      }
    }
    try OutputFiles([file], position: position).write(found.target)
    return found.quality
  }
}
