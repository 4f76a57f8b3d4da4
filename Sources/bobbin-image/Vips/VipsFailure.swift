internal import Glibc
internal import ImageProtocol

/// What libvips says about a failure: lines of who failed and why, in untranslated words.
///
/// A picture is decoded while it is encoded, so only these words tell whose failure it was.
struct VipsFailure {
  private let lines: [Substring]
  /// What was only warned of, which is all that there is of libpng.
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

  /// What the system said: libvips gives it a line of its own.
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

  /// How allocations fail in libvips and the libraries that it uses.
  private static let memoryWords = [
    "out of memory", "out_of_memory", "memory allocation", "insufficient memory", "picture memory error", "calloc",
    "malloc", "to allocate",
  ]
  /// What decoders say of what they were not made for; damage may look like it.
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
