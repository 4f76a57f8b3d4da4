import CVIPS
import ImageProtocol

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

  /// True if the file has its pixels in several passes, so that decoding needs room for all of them.
  var isInterlaced: Bool {
    number("interlaced") ?? number("jpeg-multiscan") ?? 0 != 0
  }

  /// True if a JPEG has its colours at half the size, as most have.
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
    guard let copy = vips_image_copy_memory(image) else { throw VipsLibrary.drainFailure() }
    let picture = Picture(reference: VipsObjectReference(owning: copy))
    try VipsLibrary.checkNotes()
    return picture
  }

  /// A few pixels of eight bits, band by band.
  func bytes() throws(ImageError) -> [UInt8] {
    var size = 0
    guard let memory = vips_image_write_to_memory(image, &size) else { throw VipsLibrary.drainFailure() }
    defer { g_free(memory) }
    return Array(UnsafeRawBufferPointer(start: memory, count: size))
  }
}

/// One call of a libvips operation, made by name and property since libvips's own C functions are variadic.
struct VipsCall: ~Copyable {
  private var operation: UnsafeMutablePointer<VipsOperation>

  /// Prepares a call.
  ///
  /// - Parameter name: The operation's nickname or class name.
  init(_ name: String) throws(ImageError) {
    guard let operation = vips_operation_new(name) else { throw VipsLibrary.drainFailure() }
    self.operation = operation
  }

  deinit {
    vips_object_unref_outputs(UnsafeMutableRawPointer(operation).assumingMemoryBound(to: VipsObject.self))
    g_object_unref(operation)
  }

  /// Sets an argument from text, the way libvips's command line does: numbers, words of an enumeration, true or false.
  func set(_ name: String, _ value: String) throws(ImageError) {
    let object = UnsafeMutableRawPointer(operation).assumingMemoryBound(to: VipsObject.self)
    guard vips_object_set_argument_from_string(object, name, value) == 0 else { throw VipsLibrary.drainFailure() }
  }

  /// Sets an argument that is an image, a source or a target; the operation takes its own reference.
  func set(_ name: String, _ value: VipsObjectReference) {
    var property = GValue()
    g_value_init(&property, vips_object_get_type())
    g_value_set_object(&property, value.pointer)
    g_object_set_property(UnsafeMutableRawPointer(operation).assumingMemoryBound(to: GObject.self), name, &property)
    g_value_unset(&property)
  }

  /// Sets an argument that is a list of images.
  func set(_ name: String, _ pictures: [Picture]) {
    var property = GValue()
    g_value_init(&property, vips_array_image_get_type())
    vips_value_set_array_image(&property, Int32(pictures.count))
    var count: Int32 = 0
    if let list = vips_value_get_array_image(&property, &count) {
      for (index, picture) in pictures.enumerated() {
        // The list owns a reference to each.
        g_object_ref(picture.reference.pointer)
        list[index] = picture.image
      }
    }
    g_object_set_property(UnsafeMutableRawPointer(operation).assumingMemoryBound(to: GObject.self), name, &property)
    g_value_unset(&property)
  }

  /// A picture of its own that shares the pixels of another, so that its metadata can be changed.
  static func copy(of picture: Picture) throws(ImageError) -> Picture {
    let call = try VipsCall("copy")
    call.set("in", picture.reference)
    return try call.makeImage()
  }

  /// Runs the operation; lazily, if it makes an image: pixels are computed when they are written or copied.
  mutating func run() throws(ImageError) {
    var built: UnsafeMutablePointer<VipsOperation>? = operation
    let status = vips_cache_operation_buildp(&built)
    if let built { operation = built }
    guard status == 0 else { throw VipsLibrary.drainFailure() }
  }

  /// Runs the operation and returns the image it makes.
  consuming func makeImage() throws(ImageError) -> Picture {
    try run()
    var property = GValue()
    g_value_init(&property, vips_image_get_type())
    defer { g_value_unset(&property) }
    g_object_get_property(UnsafeMutableRawPointer(operation).assumingMemoryBound(to: GObject.self), "out", &property)
    guard let image = g_value_dup_object(&property) else {
      throw ImageError(.damaged, "libvips made no picture", permanent: true)
    }
    return Picture(reference: VipsObjectReference(owning: image))
  }
}

/// The one owner of a reference to a libvips object: an image, a source or a target.
final class VipsObjectReference {
  let pointer: UnsafeMutableRawPointer

  /// Takes over a reference.
  init(owning pointer: UnsafeMutableRawPointer) {
    self.pointer = pointer
  }

  deinit {
    g_object_unref(pointer)
  }
}

/// The target of an encoder: a file, or memory.
struct EncodingTarget {
  let reference: VipsObjectReference

  init(descriptor: Int32) throws(ImageError) {
    guard let target = vips_target_new_to_descriptor(descriptor) else { throw VipsLibrary.drainFailure() }
    reference = VipsObjectReference(owning: target)
  }

  private init() throws(ImageError) {
    guard let target = vips_target_new_to_memory() else { throw VipsLibrary.drainFailure() }
    reference = VipsObjectReference(owning: target)
  }

  static func inMemory() throws(ImageError) -> EncodingTarget { try EncodingTarget() }

  /// Calls the body with what was written to memory.
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    var property = GValue()
    g_value_init(&property, vips_blob_get_type())
    defer { g_value_unset(&property) }
    g_object_get_property(reference.pointer.assumingMemoryBound(to: GObject.self), "blob", &property)
    guard let blob = g_value_get_boxed(&property) else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
    var count = 0
    let start = vips_blob_get(blob.assumingMemoryBound(to: VipsBlob.self), &count)
    return body(UnsafeRawBufferPointer(start: start, count: count))
  }
}
