internal import CVIPS
internal import Glibc
internal import ImageProtocol

/// An input whose header has been read and found within its limits; not a pixel has been decoded.
struct PictureInput {
  let source: VipsObjectReference
  let header: Picture
  let description: ImageReply.Input
  let profile: EmbeddedProfile
  /// Where frames lie on a canvas that is seen around them; none if it is not.
  let canvasFrames: [GIFFrames.Frame]
  /// Who made it; nil if it does not say so, or no output is going to.
  let authorship: Authorship?

  /// Reads the header of the picture behind a descriptor.
  ///
  /// - Parameters:
  ///   - descriptor: Open for reading; stays the caller's.
  ///   - request: tells which decoders may look at it, and what it may cost.
  ///   - sha256: its hash, if it is known already.
  init(descriptor: Int32, for request: ImageRequest, sha256: String? = nil) throws(ImageError) {
    let bytes = try Self.size(of: descriptor, limit: request.limits.maxBytes)
    VipsLibrary.forgetFailure()
    VipsLibrary.allowLoading(request.allow)
    try PackedTexts.check(descriptor, limit: request.limits.textBytes)
    guard let pointer = vips_source_new_from_descriptor(descriptor) else { throw VipsLibrary.takeFailure() }
    let source = VipsObjectReference(owning: pointer)
    let signature = FileSignature(of: descriptor)
    let announced = try Self.format(of: signature, allow: request.allow)
    if announced == .tiff { try Self.directory(descriptor).map(TIFFSamples.init)?.check() }
    let call = try VipsCall(announced.loaderClass)
    call.set("source", source)
    try call.set("access", "sequential")
    do throws(ImageError) { header = try call.makeImage() } catch { throw signature.impossibleSize ?? error }
    try Self.checkChannels(header)
    let format = header.format(loadedAs: announced)
    guard request.allow.contains(format) else { throw Self.notAllowed(format, allow: request.allow) }
    profile = try EmbeddedProfile(of: header)
    if let note = profile.note, request.failOn == .warning { throw ImageError(.damaged, note, permanent: true) }
    let isRead = format.canMove && request.outputs.contains { $0.isAnimated }
    try Self.check(header, pages: isRead ? header.pages : 1, limits: request.limits)
    let (width, height) = request.isTurned ? header.displayedSize : (header.width, header.height)
    self.source = source
    if request.outputs.contains(where: { $0.metadata.contains(.copyright) || $0.metadata.contains(.all) }) {
      VipsLibrary.allowLoading([.jpeg])
      authorship = try Authorship(header, format, descriptor: descriptor)
      VipsLibrary.allowLoading(request.allow)
    } else {
      authorship = nil
    }
    let frames =
      format == .gif && !header.hasAlpha ? GIFFrames(descriptor, most: isRead ? header.pages : 1).frames : []
    canvasFrames = header.showsCanvas(around: frames) ? frames : []
    let hash = if let sha256 { sha256 } else { try FileHash.sha256(of: descriptor) }
    description = ImageReply.Input(
      format: format, width: width, height: height, pages: header.pages, bytes: bytes,
      sha256: hash, note: profile.note)
  }

  /// Whether libvips has to get it in another form before it makes it smaller.
  var needsPreparation: Bool { header.needsPreparation || !canvasFrames.isEmpty }

  /// The size of a file, which must not be above a limit.
  static func size(of descriptor: Int32, limit: Int) throws(ImageError) -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw ImageError(.notAPicture, "the input is not a regular file", permanent: true)
    }
    guard status.st_size > 0 else { throw ImageError(.notAPicture, "the input is empty", permanent: true) }
    guard status.st_size <= limit else {
      throw ImageError(
        .tooLarge, "the input has \(status.st_size) bytes; the limit is \(limit) bytes", permanent: true)
    }
    return status.st_size
  }

  /// - Parameter pages: how many of the input's pages are going to be read.
  private static func check(_ header: Picture, pages: Int, limits: ImageLimits) throws(ImageError) {
    guard pages <= limits.maxPages else {
      throw ImageError(
        .tooLarge, "the input has \(pages) pages; the limit is \(limits.maxPages) pages", permanent: true)
    }
    // Sides are below 2^31 and pages were just checked, but only multiplication that reports overflow is safe here.
    let (area, areaOverflow) = header.width.multipliedReportingOverflow(by: header.height)
    let (pixels, overflow) = area.multipliedReportingOverflow(by: pages)
    guard !areaOverflow, !overflow, pixels <= limits.maxPixels else {
      let onPages = pages > 1 ? " on \(pages) pages" : ""
      throw ImageError(
        .tooLarge,
        "the input claims \(header.width) x \(header.height) pixels\(onPages); the limit is \(limits.maxPixels) pixels",
        permanent: true)
    }
  }

  /// Refuses pictures with channels that are neither colours nor opacity, such as those of satellites.
  private static func checkChannels(_ header: Picture) throws(ImageError) {
    let most = vips_image_get_interpretation(header.image) == VIPS_INTERPRETATION_CMYK ? 5 : 4
    guard header.bands > most else { return }
    throw .tooManyChannels(header.bands, most: most)
  }

  /// What the first bytes announce, if a decoder may look at it.
  private static func format(of signature: FileSignature, allow: [ImageFormat]) throws(ImageError) -> ImageFormat {
    let announced = signature.format ?? (signature.isPacked && allow.contains(.svg) ? .svg : nil)
    guard let announced else {
      let allowed = allow.map(\.displayName).joined(separator: ", ")
      throw ImageError(.notAPicture, "the input is not a picture of an allowed format (\(allowed))", permanent: true)
    }
    // AVIF and HEIF are told apart by more than that, by the decoder that they share.
    guard allow.contains(where: { $0.loaderClass == announced.loaderClass }) else {
      throw notAllowed(announced, allow: allow)
    }
    return announced
  }

  private static func directory(_ descriptor: Int32) -> TIFFDirectory? {
    TIFFDirectory { offset, count in FileBytes.read(descriptor, offset, count) }
  }

  private static func notAllowed(_ format: ImageFormat, allow: [ImageFormat]) -> ImageError {
    ImageError(
      .formatNotAllowed,
      "the input is a picture of format \(format.displayName); allowed are "
        + allow.map(\.displayName).joined(separator: ", "), permanent: true)
  }
}

extension ImageError {
  static func tooManyChannels(_ count: Int, most: Int) -> ImageError {
    ImageError(
      .notAPicture, "the input has \(count) channels; colours and opacity are \(most) at most", permanent: true)
  }
}
