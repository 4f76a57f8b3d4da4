internal import CVIPS
internal import Glibc
internal import ImageProtocol

/// An input whose header has been read and found within its limits; not a pixel has been decoded.
struct PictureInput {
  let source: VipsObjectReference
  let description: ImageReply.Input

  /// Reads the header of the picture behind a descriptor.
  ///
  /// - Parameters:
  ///   - descriptor: Open for reading; stays the caller's.
  ///   - allow: The formats whose decoders may look at it.
  init(descriptor: Int32, allow: [ImageFormat], limits: ImageLimits) throws(ImageError) {
    let bytes = try Self.size(of: descriptor, limit: limits.maxBytes)
    VipsLibrary.allowLoading(allow)
    guard let pointer = vips_source_new_from_descriptor(descriptor) else { throw VipsLibrary.takeFailure() }
    let source = VipsObjectReference(owning: pointer)
    guard let loader = vips_foreign_find_load_source(pointer).map({ String(cString: $0) }),
      let format = allow.first(where: { $0.loaderClass == loader })
    else {
      vips_error_clear()
      throw Self.refusal(of: descriptor, allow: allow)
    }
    let call = try VipsCall(loader)
    call.set("source", source)
    try call.set("access", "sequential")
    let header = try call.makeImage()
    try Self.check(header, limits: limits)
    let (width, height) = header.displayedSize
    self.source = source
    description = ImageReply.Input(format: format, width: width, height: height, pages: header.pages, bytes: bytes)
  }

  private static func size(of descriptor: Int32, limit: Int) throws(ImageError) -> Int {
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

  private static func check(_ header: Picture, limits: ImageLimits) throws(ImageError) {
    guard header.pages <= limits.maxPages else {
      throw ImageError(
        .tooLarge, "the input has \(header.pages) pages; the limit is \(limits.maxPages) pages", permanent: true)
    }
    // Sides are below 2^31 and pages were just checked, but only multiplication that reports overflow is safe here.
    let (area, areaOverflow) = header.width.multipliedReportingOverflow(by: header.height)
    let (pixels, overflow) = area.multipliedReportingOverflow(by: header.pages)
    guard !areaOverflow, !overflow, pixels <= limits.maxPixels else {
      let pages = header.pages > 1 ? " on \(header.pages) pages" : ""
      throw ImageError(
        .tooLarge,
        "the input claims \(header.width) x \(header.height) pixels\(pages); the limit is \(limits.maxPixels) pixels",
        permanent: true)
    }
  }

  private static func refusal(of descriptor: Int32, allow: [ImageFormat]) -> ImageError {
    let allowed = allow.map(\.displayName).joined(separator: ", ")
    guard let format = FileSignature(of: descriptor).format else {
      return ImageError(.notAPicture, "the input is not a picture of an allowed format (\(allowed))", permanent: true)
    }
    if allow.contains(format) {
      return ImageError(
        .damaged, "the input begins like a \(format.displayName) picture but is not one", permanent: true)
    }
    return ImageError(
      .formatNotAllowed, "the input is a \(format.displayName) picture; allowed are \(allowed)", permanent: true)
  }
}
