internal import CVIPS
internal import Glibc
internal import ImageProtocol

/// The process-wide settings of libvips, and the end of its error messages.
enum VipsLibrary {
  /// Starts libvips with nothing allowed and nothing cached.
  ///
  /// - Parameter threads: The threads of one decode and encode.
  static func start(threads: Int) throws(ImageError) {
    guard vips_init("bobbin-image") == 0 else {
      throw ImageError(.helperUnavailable, "libvips can't be started: \(takeError())", permanent: false)
    }
    // Every picture is seen once: a cache of operations would only hold memory and descriptors.
    vips_cache_set_max(0)
    vips_concurrency_set(Int32(clamping: threads))
    vips_block_untrusted_set(1)
    vips_operation_block_set("VipsForeign", 1)
    for format in ImageFormat.allCases {
      if let saver = format.saverClass { vips_operation_block_set(saver, 0) }
    }
  }

  /// Opens the decoders of these formats and blocks all others.
  static func allowLoading(_ formats: [ImageFormat]) {
    for loader in Set(ImageFormat.allCases.map(\.loaderClass)) {
      vips_operation_block_set(loader, formats.contains { $0.loaderClass == loader } ? 0 : 1)
    }
  }

  /// What is wrong with an input that nothing is made of.
  // Requests are answered one after the other, by the one thread that reads and writes this.
  nonisolated(unsafe) static var failOn = ImageFailOn.error

  /// Fails if something was noted although the call that met it went on, such as a damaged strip that is painted black.
  static func checkNotes() throws(ImageError) {
    let notes = String(cString: vips_error_buffer()).split(separator: "\n")
    let isHarmless =
      switch failOn {
      case .none: !notes.contains { $0.contains("memory") }
      case .error: notes.allSatisfy { note in harmlessNotes.contains(where: note.contains) }
      case .warning: notes.isEmpty
      }
    if isHarmless { vips_error_clear() } else { throw takeFailure() }
  }

  /// What decoders say of faults that cost no pixel; whatever else they say counts as damage.
  private static let harmlessNotes = [
    "extraneous bytes before marker", "unknown JFIF revision number", "Unknown Adobe color transform code",
    "Inconsistent progression sequence", "for \"Orientation\" tag",
  ]

  /// Drops what libvips has to say so far.
  static func forgetFailure() { vips_error_clear() }

  /// Takes what libvips has to say about the last failure: its first line, printable, of at most 300 characters.
  static func takeError() -> String {
    let lines = takeErrorText().split(separator: "\n")
    let line = lines.first.map(String.init) ?? "no reason given"
    let printable = line.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f }.prefix(300)
    return String(String.UnicodeScalarView(printable))
  }

  /// Takes the last failure as an error; what can't be told apart otherwise is told by libvips's untranslated words.
  static func takeFailure() -> ImageError {
    let text = String(cString: vips_error_buffer())
    let line = takeError()
    if text.contains("write error") {
      let tooLarge = text.contains(String(cString: strerror(EFBIG)))
      return tooLarge
        ? .outputTooLarge
        : ImageError(.output, "an output can't be written: \(line)", permanent: false)
    }
    if text.contains("memory") {
      return ImageError(
        .outOfMemory, "the picture needs more memory than an image helper may have (\(line))", permanent: true)
    }
    if text.contains(String(cString: strerror(EIO))) {
      return ImageError(.damaged, "the input can't be read: \(line)", permanent: false)
    }
    return ImageError(.damaged, "the picture is truncated or damaged: \(line)", permanent: true)
  }

  private static func takeErrorText() -> String {
    guard let buffer = vips_error_buffer_copy() else { return "" }
    defer { g_free(buffer) }
    return String(cString: buffer)
  }
}
