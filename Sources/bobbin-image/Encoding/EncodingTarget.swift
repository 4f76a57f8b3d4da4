internal import CVIPS
internal import ImageProtocol

/// Where an encoder writes to: a file, or memory.
struct EncodingTarget {
  let reference: VipsObjectReference

  init(descriptor: Int32) throws(ImageError) {
    guard let target = vips_target_new_to_descriptor(descriptor) else { throw VipsLibrary.takeFailure() }
    reference = VipsObjectReference(owning: target)
  }

  private init() throws(ImageError) {
    guard let target = vips_target_new_to_memory() else { throw VipsLibrary.takeFailure() }
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
