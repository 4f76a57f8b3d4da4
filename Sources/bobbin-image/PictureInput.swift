import CVIPS
import Glibc
import ImageProtocol

/// An input whose header has been read and found within its limits; not a pixel has been decoded.
struct PictureInput {
  let source: VipsObjectReference
  let header: Picture
  let description: ImageReply.Input
  let profile: EmbeddedProfile
  /// The places of frames on a canvas that is seen around them; empty if it is not.
  let canvasFrames: [GIFFrames.Frame]
  /// The author and the copyright; nil if the input names none, or no output keeps them.
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
    guard let pointer = vips_source_new_from_descriptor(descriptor) else { throw VipsLibrary.drainFailure() }
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

  /// True if libvips has to get it in another form before it makes it smaller.
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

  /// Throws for pictures with channels that are neither colours nor opacity, such as those of satellites.
  private static func checkChannels(_ header: Picture) throws(ImageError) {
    let most = vips_image_get_interpretation(header.image) == VIPS_INTERPRETATION_CMYK ? 5 : 4
    guard header.bands > most else { return }
    throw .tooManyChannels(header.bands, most: most)
  }

  /// Returns the format that the first bytes announce, if its decoder is allowed.
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
    TIFFDirectory { offset, count in FileBytes.read(descriptor, at: offset, count: count) }
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

/// The first bytes of a file, which alone decide its decoder.
///
/// libvips would ask the decoders themselves, even blocked ones, and SVG's decoder unpacks its input.
struct FileSignature {
  private let bytes: [UInt8]

  init(of descriptor: Int32) {
    bytes = Array(
      unsafeUninitializedCapacity: Self.longest
    ) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
    }
  }

  /// An SVG picture may begin with declarations and comments.
  private static let longest = 1000

  private static let starts: [(ImageFormat, [[UInt8]])] = [
    (.jpeg, [[0xFF, 0xD8]]), (.png, [[0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]]), (.gif, [Array("GIF8".utf8)]),
    // The last two have offsets of 64 bits.
    (.tiff, [[0x49, 0x49, 42, 0], [0x4D, 0x4D, 0, 42], [0x49, 0x49, 43, 0], [0x4D, 0x4D, 0, 43]]),
    (.pdf, [Array("%PDF-".utf8)]), (.jxl, [[0xFF, 0x0A], [0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20]]),
    (.jp2, [[0, 0, 0, 12, 0x6A, 0x50, 0x20, 0x20], [0xFF, 0x4F, 0xFF, 0x51]]),
  ]
  private static let brands: [(ImageFormat, [String])] = [
    (.avif, ["avif", "avis"]),
    (.heif, ["heic", "heix", "hevc", "hevx", "heim", "heis", "hevm", "hevs", "mif1", "msf1"]),
  ]

  /// The problem with the size in a PNG's header; decoders only say that there is one.
  var impossibleSize: ImageError? {
    guard format == .png, bytes.count >= 24 else { return nil }
    let sides = [16, 20].map { start in bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
    guard let least = sides.min(), let most = sides.max(), least < 1 || most > 1_000_000 else { return nil }
    return ImageError(
      .tooLarge, "the input claims \(sides[0]) x \(sides[1]) pixels; a side of a PNG has 1 to 1000000", permanent: true)
  }

  /// The format these bytes announce, or nil.
  var format: ImageFormat? {
    for (format, starts) in Self.starts where starts.contains(where: { bytes.starts(with: $0) }) { return format }
    if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) { return .webp }
    if bytes.dropFirst(4).starts(with: Array("ftyp".utf8)) {
      let brand = bytes.dropFirst(8).prefix(4)
      for (format, brands) in Self.brands where brands.contains(where: { brand.elementsEqual($0.utf8) }) {
        return format
      }
    }
    if isPortablePixmap { return .ppm }
    return String(decoding: bytes, as: UTF8.self).contains("<svg") ? .svg : nil
  }

  /// True if it is an archive of gzip, as which SVG pictures are often kept.
  var isPacked: Bool { bytes.starts(with: [0x1F, 0x8B]) }

  private var isPortablePixmap: Bool {
    guard bytes.count > 2, bytes[0] == 0x50, [0x20, 0x09, 0x0A, 0x0D, 0x23].contains(bytes[2]) else { return false }
    // Those of floating point have letters.
    return (0x31...0x37).contains(bytes[1]) || bytes[1] | 0x20 == 0x66
  }
}
