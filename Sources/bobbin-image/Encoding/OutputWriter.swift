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
  /// Whether the picture's colour profile, if it has one, is of use.
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

  /// Whether the encoder gives the picture EXIF data that nobody asked for.
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
    // After a damaged strip at the very end nothing comes to fail.
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
