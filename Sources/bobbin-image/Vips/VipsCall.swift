internal import CVIPS
internal import ImageProtocol

/// One call of a libvips operation, made by name and property since libvips's own C functions are variadic.
struct VipsCall: ~Copyable {
  private var operation: UnsafeMutablePointer<VipsOperation>

  /// Prepares a call.
  ///
  /// - Parameter name: The operation's nickname or class name.
  init(_ name: String) throws(ImageError) {
    guard let operation = vips_operation_new(name) else { throw VipsLibrary.takeFailure() }
    self.operation = operation
  }

  deinit {
    vips_object_unref_outputs(UnsafeMutableRawPointer(operation).assumingMemoryBound(to: VipsObject.self))
    g_object_unref(operation)
  }

  /// Sets an argument from text, the way libvips's command line does: numbers, words of an enumeration, true or false.
  func set(_ name: String, _ value: String) throws(ImageError) {
    let object = UnsafeMutableRawPointer(operation).assumingMemoryBound(to: VipsObject.self)
    guard vips_object_set_argument_from_string(object, name, value) == 0 else { throw VipsLibrary.takeFailure() }
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
    guard status == 0 else { throw VipsLibrary.takeFailure() }
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
