internal import CVIPS
internal import ImageProtocol

/// A libvips image, whose pixels usually don't exist yet. Frames of a moving picture lie one below the other.
struct Picture {
  let reference: VipsObjectReference

  var image: UnsafeMutablePointer<VipsImage> {
    reference.pointer.assumingMemoryBound(to: VipsImage.self)
  }

  var width: Int { Int(vips_image_get_width(image)) }
  var height: Int { Int(vips_image_get_height(image)) }
  var bands: Int { Int(vips_image_get_bands(image)) }
  var pages: Int { max(1, Int(vips_image_get_n_pages(image))) }
  var hasAlpha: Bool { vips_image_hasalpha(image) != 0 }
  var isGrey: Bool { vips_image_get_bands(image) < 3 }
  /// The bytes of one pixel.
  var pixelBytes: Int { Int(vips_image_get_bands(image)) * Int(vips_format_sizeof(vips_image_get_format(image))) }

  /// Width and height as displayed, after the orientation tag.
  var displayedSize: (width: Int, height: Int) {
    vips_image_get_orientation_swap(image) != 0 ? (height, width) : (width, height)
  }

  /// Whether the file has its pixels in several passes, so that decoding needs room for all of them.
  var isInterlaced: Bool {
    number("interlaced") ?? number("jpeg-multiscan") ?? 0 != 0
  }

  /// Whether a JPEG has its colours at half the size, as most have.
  var hasHalvedColours: Bool {
    var mode: UnsafePointer<CChar>?
    guard vips_image_get_typeof(image, "jpeg-chroma-subsample") != 0,
      vips_image_get_string(image, "jpeg-chroma-subsample", &mode) == 0, let mode
    else { return false }
    return String(cString: mode).hasPrefix("4:2:0")
  }

  /// A field of bytes; nil if there is none.
  func blob(_ field: String) -> [UInt8]? {
    var start: UnsafeRawPointer?
    var count = 0
    guard vips_image_get_typeof(image, field) != 0, vips_image_get_blob(image, field, &start, &count) == 0 else {
      return nil
    }
    return Array(UnsafeRawBufferPointer(start: start, count: count))
  }

  private func number(_ field: String) -> Int32? {
    var number: Int32 = 0
    guard vips_image_get_typeof(image, field) != 0, vips_image_get_int(image, field, &number) == 0 else { return nil }
    return number
  }

  /// The picture's format: decoders of several formats tell what they found.
  func format(loadedAs format: ImageFormat) -> ImageFormat {
    guard format == .heif || format == .avif else { return format }
    var compression: UnsafePointer<CChar>?
    guard vips_image_get_typeof(image, "heif-compression") != 0,
      vips_image_get_string(image, "heif-compression", &compression) == 0, let compression
    else { return .heif }
    return String(cString: compression) == "av1" ? .avif : .heif
  }

  /// The picture with its pixels computed and kept in memory, so that several outputs can be made of one decode.
  func inMemory() throws(ImageError) -> Picture {
    vips_error_clear()
    guard let copy = vips_image_copy_memory(image) else { throw VipsLibrary.takeFailure() }
    let picture = Picture(reference: VipsObjectReference(owning: copy))
    try VipsLibrary.checkNotes()
    return picture
  }

  /// A few pixels of eight bits, band by band.
  func bytes() throws(ImageError) -> [UInt8] {
    var size = 0
    guard let memory = vips_image_write_to_memory(image, &size) else { throw VipsLibrary.takeFailure() }
    defer { g_free(memory) }
    return Array(UnsafeRawBufferPointer(start: memory, count: size))
  }
}
