import CVIPS
import Glibc
import ImageProtocol
import Synchronization

/// The process-wide settings of libvips, and the end of its error messages.
enum VipsLibrary {
  /// Starts libvips with nothing allowed and nothing cached.
  ///
  /// - Parameter threads: The threads of one decode and encode.
  static func start(threads: Int) throws(ImageError) {
    guard vips_init("bobbin-image") == 0 else {
      throw ImageError(.helperUnavailable, "libvips can't be started: \(drainReason())", permanent: false)
    }
    // Every picture is seen once: a cache of operations would only hold memory and descriptors.
    VipsWarnings.collect()
    vips_cache_set_max(0)
    vips_concurrency_set(Int32(clamping: threads))
    vips_block_untrusted_set(1)
    vips_operation_block_set("VipsForeign", 1)
    for format in ImageFormat.allCases {
      if let saver = format.saverClass { vips_operation_block_set(saver, 0) }
    }
  }

  /// Allows the decoders of these formats and blocks all others.
  static func allowLoading(_ formats: [ImageFormat]) {
    for loader in Set(ImageFormat.allCases.map(\.loaderClass)) {
      vips_operation_block_set(loader, formats.contains { $0.loaderClass == loader } ? 0 : 1)
    }
  }

  /// The faults of an input that make it fail.
  // Requests are answered one after the other, by the one thread that reads and writes this.
  nonisolated(unsafe) static var failOn = ImageFailOn.error

  /// Throws if a fault was noted although the call continued, such as a damaged strip that is painted black.
  static func checkNotes() throws(ImageError) {
    let notes = String(cString: vips_error_buffer()).split(separator: "\n")
    let isHarmless =
      switch failOn {
      case .none: !notes.contains { $0.contains("memory") }
      case .error: notes.allSatisfy { note in harmlessNotes.contains(where: note.contains) }
      case .warning: notes.isEmpty
      }
    if isHarmless { vips_error_clear() } else { throw drainFailure() }
  }

  /// Messages of decoders about faults that cost no pixel; all others count as damage.
  static let harmlessNotes = [
    "extraneous bytes before marker", "unknown JFIF revision number", "Unknown Adobe color transform code",
    "Inconsistent progression sequence", "for \"Orientation\" tag",
  ]

  /// Drops the errors and warnings so far.
  static func forgetFailure() {
    vips_error_clear()
    _ = VipsWarnings.drain()
  }

  /// Drains the last failure's reason, printable, of at most 300 characters.
  static func drainReason() -> String { VipsFailure(drainMessages(), warnings: VipsWarnings.drain()).line }

  /// Drains the last failure as an error.
  static func drainFailure() -> ImageError { VipsFailure(drainMessages(), warnings: VipsWarnings.drain()).error }

  private static func drainMessages() -> String {
    guard let buffer = vips_error_buffer_copy() else { return "" }
    defer {
      g_free(buffer)
      vips_error_clear()
    }
    return String(cString: buffer)
  }
}

/// A failure in the words of libvips: lines of who failed and why, untranslated.
///
/// A picture is decoded while it is encoded, so only these words tell whose failure it was.
struct VipsFailure {
  private let lines: [Substring]
  /// The warnings, which are all that libpng gives.
  private let warnings: [String]

  init(_ text: String, warnings: [String] = []) {
    lines = text.split(separator: "\n")
    self.warnings = warnings
  }

  /// The reason, printable, of at most 300 characters.
  var line: String {
    let printable = reason.unicodeScalars.filter { !Self.unprintable.contains($0.properties.generalCategory) }
    return String(String.UnicodeScalarView(printable.prefix(300)))
  }

  private static let unprintable: [Unicode.GeneralCategory] = [.control, .format, .lineSeparator, .paragraphSeparator]

  /// The line that says most: decoders first tell small faults and then the one that ends them, and libvips tells last
  /// what follows from that.
  private var reason: Substring {
    let causes = lines.filter { line in
      line.contains(where: \.isLetter) && !Self.consequences.contains(where: line.contains)
    }
    // Where a warning is enough, the first of them ended it.
    if VipsLibrary.failOn == .warning, let first = causes.first { return first }
    let grave = causes.filter { line in !VipsLibrary.harmlessNotes.contains(where: line.contains) }
    return grave.last ?? warnings.last?[...] ?? lines.first ?? "no reason given"
  }

  private static let consequences = [
    "out of order read", "bad seek", "tiff2vips: read error", "read error at scanline", "unable to thumbnail",
  ]

  var error: ImageError {
    if has(["write error"]) {
      if has([String(cString: strerror(EFBIG)).lowercased()]) { return .outputTooLarge }
      return ImageError(.output, "an output can't be written: \(systemReason ?? line)", permanent: false)
    }
    if has(["security limit"]) {
      return ImageError(.tooLarge, "the picture is beyond what its decoder allows: \(line)", permanent: true)
    }
    if has(Self.memoryWords) {
      return ImageError(
        .outOfMemory, "the picture needs more memory than was expected of it (\(line)); ask for smaller outputs",
        permanent: true)
    }
    if has([String(cString: strerror(EIO)).lowercased()]) {
      return ImageError(.damaged, "the input can't be read: \(line)", permanent: false)
    }
    if isOfProfile {
      return ImageError(.damaged, "the picture's colour profile can't be used: \(line)", permanent: true)
    }
    return switch culprit {
    case .decoder where has(Self.unknownWords):
      ImageError(
        .damaged, "the picture is damaged, or of a kind that its decoder does not know: \(line)", permanent: true)
    case .decoder: ImageError(.damaged, "the picture is truncated or damaged: \(line)", permanent: true)
    case .encoder: ImageError(.encoding, "the picture can't be encoded: \(line)", permanent: true)
    // libpng's reader fails without a line; its writer has one.
    case nil where lines.isEmpty && !warnings.isEmpty:
      ImageError(.damaged, "the picture is truncated or damaged: \(line)", permanent: true)
    case nil: ImageError(.encoding, "the picture can't be made: \(line)", permanent: true)
    }
  }

  /// The system's error, to which libvips gives a line of its own.
  private var systemReason: String? {
    let line = lines.first { line in ["unix error: ", "system error: "].contains(where: line.hasPrefix) }
    return line?.split(separator: ":", maxSplits: 1).last.map { String($0.dropFirst()) }
  }

  private var isOfProfile: Bool { lines.contains { $0.hasPrefix("VipsIcc: ") } }

  /// Whose failure it was: the first one's who is known.
  private enum Culprit { case decoder, encoder }

  private var culprit: Culprit? {
    for line in lines {
      if Self.encoders.contains(where: line.hasPrefix) { return .encoder }
      // libheif's error numbers, of which 8 and 9 are encoders'.
      if line.hasPrefix("heif: "), line.contains("(8.") || line.contains("(9.") { return .encoder }
      if Self.decoders.contains(where: line.hasPrefix) { return .decoder }
    }
    return nil
  }

  private func has(_ words: [String]) -> Bool {
    lines.contains { line in
      let line = line.lowercased()
      return words.contains { line.contains($0) }
    }
  }

  /// The messages about failed allocations in libvips and its libraries.
  private static let memoryWords = [
    "out of memory", "out_of_memory", "memory allocation", "insufficient memory", "picture memory error", "calloc",
    "malloc", "to allocate",
  ]
  /// The messages of decoders about features that they lack; damage may look like it.
  private static let unknownWords = ["unsupported", "not supported", "not implemented"]
  private static let encoders = [
    "webpsave", "heifsave", "cgifsave", "gifsave", "cgif", "pngsave", "spngsave", "jpegsave", "tiffsave", "vips2tiff",
    "TIFFWrite", "TIFFAppend",
  ]
  private static let decoders = [
    "VipsJpeg", "jpegload", "vipspng", "pngload", "spngload", "webp:", "webpload", "heif", "gifload", "tiff2vips",
    "tiffload", "svgload", "pdfload", "jp2kload", "jxlload", "ppmload",
    // libtiff tells who of its parts failed.
    "TIFF", "ZIP", "LZW", "JPEG", "PackBits", "Fax", "CCITT", "ZSTD", "LZMA", "LogL", "WebP",
  ]
}

/// The latest warnings of decoders, the newest last.
///
/// libpng's reasons are nowhere else: libvips passes them on to GLib's log, from any of its threads.
enum VipsWarnings {
  private static let latest = Mutex<[String]>([])
  /// Some files produce one for each line of pixels.
  private static let most = 8

  /// Begins to collect warnings, in place of the handler that libvips silenced.
  static func collect() {
    g_log_set_handler(
      "VIPS", G_LOG_LEVEL_WARNING,
      { _, _, message, _ in
        guard let message else { return }
        let text = String(cString: message)
        VipsWarnings.latest.withLock { latest in
          if latest.count == VipsWarnings.most { latest.removeFirst() }
          latest.append(text)
        }
      }, nil)
  }

  static func drain() -> [String] {
    latest.withLock { latest in
      defer { latest = [] }
      return latest
    }
  }
}
