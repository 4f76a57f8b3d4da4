internal import CVIPS
internal import ImageProtocol

extension Picture {
  /// The picture in eight bits of sRGB or of grey, with or without transparency.
  func inScreenColours() throws(ImageError) -> Picture {
    let wanted = isGrey ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB
    let isEightBit = vips_image_get_format(image) == VIPS_FORMAT_UCHAR
    if vips_image_get_interpretation(image) == wanted && isEightBit { return self }
    return try convert(to: isGrey ? "b-w" : "srgb")
  }

  private func convert(to space: String) throws(ImageError) -> Picture {
    let call = try VipsCall("colourspace")
    call.set("in", reference)
    try call.set("space", space)
    return try call.makeImage()
  }

  /// The picture in sRGB colours, with an opacity if the colour has one.
  private func ready(for colour: ImageColour) throws(ImageError) -> Picture {
    let coloured = isGrey ? try convert(to: "srgb") : self
    guard !colour.isOpaque && !coloured.hasAlpha else { return coloured }
    let call = try VipsCall("bandjoin_const")
    call.set("in", coloured.reference)
    try call.set("c", "255")
    return try call.makeImage()
  }

  /// The picture on a background, without transparency.
  func flattened(on colour: ImageColour) throws(ImageError) -> Picture {
    guard hasAlpha else { return self }
    let coloured = isGrey ? try convert(to: "srgb") : self
    let call = try VipsCall("flatten")
    call.set("in", coloured.reference)
    try call.set("background", colour.vipsText(bands: 3))
    return try call.makeImage()
  }

  /// The picture in the middle of a box, with a colour around it.
  func padded(to size: (width: Int, height: Int), with colour: ImageColour) throws(ImageError) -> Picture {
    if (width, height) == size { return self }
    let picture = try ready(for: colour)
    let call = try VipsCall("gravity")
    call.set("in", picture.reference)
    try call.set("direction", "centre")
    try call.set("width", String(size.width))
    try call.set("height", String(size.height))
    try call.set("extend", "background")
    try call.set("background", colour.vipsText(bands: picture.bands))
    return try call.makeImage()
  }

  /// A part of the picture.
  func cut(left: Int, top: Int, width: Int, height: Int) throws(ImageError) -> Picture {
    let call = try VipsCall("extract_area")
    call.set("input", reference)
    for (name, value) in [("left", left), ("top", top), ("width", width), ("height", height)] {
      try call.set(name, String(value))
    }
    return try call.makeImage()
  }

  /// Pictures of one size, one below the other.
  static func stacked(_ pictures: [Picture]) throws(ImageError) -> Picture {
    let call = try VipsCall("arrayjoin")
    call.set("in", pictures)
    try call.set("across", "1")
    return try call.makeImage()
  }
}

extension ImageColour {
  /// The colour for as many bands as a picture has, of which a fourth is its opacity.
  fileprivate func vipsText(bands: Int) -> String {
    [red, green, blue, alpha].prefix(bands).map(String.init).joined(separator: " ")
  }
}
