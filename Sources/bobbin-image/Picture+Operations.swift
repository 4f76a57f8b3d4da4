import CVIPS
import ImageProtocol

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

/// Pictures that libvips 8.14 can scale down only after a conversion.
extension Picture {
  /// True if its colours are inks, which the thumbnailer would convert without a look at the picture's own profile.
  var isOfInks: Bool { vips_image_get_interpretation(image) == VIPS_INTERPRETATION_CMYK }

  var isOfLab: Bool {
    [VIPS_INTERPRETATION_LAB, VIPS_INTERPRETATION_LABS, VIPS_INTERPRETATION_LABQ]
      .contains(vips_image_get_interpretation(image))
  }

  /// True if its samples have 32 bits, of which the thumbnailer would see the lowest.
  private var isWide: Bool { vips_image_get_format(image) == VIPS_FORMAT_UINT }

  /// True if ``prepared(intent:)`` changes anything.
  var needsPreparation: Bool { isOfInks || isWide }

  /// The picture in sRGB if it is of inks, and with the upper half of samples that have 32 bits.
  ///
  /// - Parameter intent: how inks are converted by the picture's profile; nil to convert them by libvips's own.
  func prepared(intent: String?) throws(ImageError) -> Picture {
    let picture = isWide ? try narrowed(to: "ushort") : self
    return picture.isOfInks ? try picture.inksOnScreen(intent) : picture
  }

  private func inksOnScreen(_ intent: String?) throws(ImageError) -> Picture {
    let colours = bands > 4 ? try channels(0, count: 4) : self
    let converted =
      if let intent { try colours.converted(by: "embedded", "true", intent: intent) } else {
        try colours.converted(by: "input-profile", "cmyk", intent: "relative")
      }
    guard bands > 4 else { return converted }
    let alpha = try channels(4, count: 1)
    let call = try VipsCall("bandjoin")
    let isNarrow = vips_image_get_format(image) == VIPS_FORMAT_UCHAR
    call.set("in", [converted, isNarrow ? alpha : try alpha.narrowed(to: "uchar")])
    return try call.makeImage()
  }

  /// The picture in sRGB.
  ///
  /// - Parameters:
  ///   - argument: tells with `value` what profile is taken.
  ///   - intent: how, as libvips calls it.
  func converted(by argument: String, _ value: String, intent: String) throws(ImageError) -> Picture {
    let call = try VipsCall("icc_transform")
    call.set("in", reference)
    try call.set("output-profile", "srgb")
    try call.set(argument, value)
    try call.set("intent", intent)
    return try call.makeImage()
  }

  private func channels(_ first: Int, count: Int) throws(ImageError) -> Picture {
    let call = try VipsCall("extract_band")
    call.set("in", reference)
    try call.set("band", String(first))
    try call.set("n", String(count))
    return try call.makeImage()
  }

  /// The picture with the upper bits of its samples.
  private func narrowed(to format: String) throws(ImageError) -> Picture {
    let call = try VipsCall("cast")
    call.set("in", reference)
    try call.set("format", format)
    try call.set("shift", "true")
    let narrow = try call.makeImage()
    guard format == "ushort", !isOfInks else { return narrow }
    let copy = try VipsCall("copy")
    copy.set("in", narrow.reference)
    try copy.set("interpretation", isGrey ? "grey16" : "rgb16")
    return try copy.makeImage()
  }
}
