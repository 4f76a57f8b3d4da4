internal import CVIPS
internal import ImageProtocol

/// What libvips 8.14 makes smaller only if it is brought into another form first.
extension Picture {
  /// Whether its colours are inks, which the thumbnailer would convert without a look at the picture's own profile.
  var isOfInks: Bool { vips_image_get_interpretation(image) == VIPS_INTERPRETATION_CMYK }

  var isOfLab: Bool {
    [VIPS_INTERPRETATION_LAB, VIPS_INTERPRETATION_LABS, VIPS_INTERPRETATION_LABQ]
      .contains(vips_image_get_interpretation(image))
  }

  /// Whether its samples have 32 bits, of which the thumbnailer would see the lowest.
  private var isWide: Bool { vips_image_get_format(image) == VIPS_FORMAT_UINT }

  /// Whether ``prepared(intent:)`` changes anything.
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
