internal import CVIPS
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
    VipsWarnings.collect()
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
  static let harmlessNotes = [
    "extraneous bytes before marker", "unknown JFIF revision number", "Unknown Adobe color transform code",
    "Inconsistent progression sequence", "for \"Orientation\" tag",
  ]

  /// Drops what libvips has to say so far.
  static func forgetFailure() {
    vips_error_clear()
    _ = VipsWarnings.take()
  }

  /// Takes what libvips has to say about the last failure: its reason, printable, of at most 300 characters.
  static func takeError() -> String { VipsFailure(takeErrorText(), warnings: VipsWarnings.take()).line }

  /// Takes the last failure as an error.
  static func takeFailure() -> ImageError { VipsFailure(takeErrorText(), warnings: VipsWarnings.take()).error }

  private static func takeErrorText() -> String {
    guard let buffer = vips_error_buffer_copy() else { return "" }
    defer {
      g_free(buffer)
      vips_error_clear()
    }
    return String(cString: buffer)
  }
}
