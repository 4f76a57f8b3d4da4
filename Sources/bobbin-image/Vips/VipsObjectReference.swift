internal import CVIPS

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
