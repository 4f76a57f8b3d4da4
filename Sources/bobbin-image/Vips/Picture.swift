internal import CVIPS
internal import ImageProtocol

/// A libvips image, whose pixels usually don't exist yet.
struct Picture {
  let reference: VipsObjectReference

  private var image: UnsafeMutablePointer<VipsImage> {
    reference.pointer.assumingMemoryBound(to: VipsImage.self)
  }

  var width: Int { Int(vips_image_get_width(image)) }
  var height: Int { Int(vips_image_get_height(image)) }
  var pages: Int { max(1, Int(vips_image_get_n_pages(image))) }

  /// Width and height as displayed, after the orientation tag.
  var displayedSize: (width: Int, height: Int) {
    vips_image_get_orientation_swap(image) != 0 ? (height, width) : (width, height)
  }

  /// The picture with its pixels computed and kept in memory, so that several outputs can be made of one decode.
  func inMemory() throws(ImageError) -> Picture {
    guard let copy = vips_image_copy_memory(image) else { throw VipsLibrary.takeFailure() }
    return Picture(reference: VipsObjectReference(owning: copy))
  }

  /// The picture in eight bits of sRGB or of grey, with or without transparency.
  func inScreenColours() throws(ImageError) -> Picture {
    let interpretation = vips_image_get_interpretation(image)
    let isGrey = vips_image_get_bands(image) < 3
    let wanted = isGrey ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB
    let isEightBit = vips_image_get_format(image) == VIPS_FORMAT_UCHAR
    if interpretation == wanted && isEightBit { return self }
    let call = try VipsCall("colourspace")
    call.set("in", reference)
    try call.set("space", isGrey ? "b-w" : "srgb")
    return try call.makeImage()
  }
}
