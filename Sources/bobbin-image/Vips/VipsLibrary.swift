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

  /// Whether something failed although the call that met it went on.
  static var hasNotedFailure: Bool { vips_error_buffer().pointee != 0 }

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
