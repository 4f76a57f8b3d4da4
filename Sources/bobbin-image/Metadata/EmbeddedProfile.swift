internal import CVIPS
internal import ImageProtocol

/// The colour profile of an input, and whether its colours can be converted by it.
enum EmbeddedProfile {
  case none
  /// Its colours are those of sRGB, so that nothing is to be converted.
  case screen
  /// - Parameter intent: how colours are to be converted, as libvips calls it.
  case usable(intent: String)
  /// It is damaged, or for other colours than the picture's: the picture counts as one without.
  case unusable

  /// - Parameter header: the input, of which no pixel is computed.
  init(of header: Picture) throws(ImageError) {
    guard !header.isOfLab, let bytes = header.blob("icc-profile-data") else {
      self = .none
      return
    }
    // libvips takes one of its own, with a word nobody hears, where it finds no way to use a profile.
    guard let profile = ColourProfile(bytes),
      profile.space == (header.isOfInks ? "CMYK" : header.isGrey ? "GRAY" : "RGB ")
    else {
      self = .unusable
      return
    }
    if profile.isScreen {
      self = .screen
    } else {
      self = Self.isUsable(bytes, profile.intent, for: header) ? .usable(intent: profile.intent) : .unusable
    }
  }

  /// How colours are to be converted by it; nil if they can't be, or need not.
  var intent: String? {
    guard case .usable(let intent) = self else { return nil }
    return intent
  }

  /// What is to be told of the input.
  var note: String? {
    guard case .unusable = self else { return nil }
    return "the colour profile is damaged or not for such pictures, and counts as none"
  }

  /// Whether colours can be converted, tried on one pixel: little CMS looks at all of a profile when it begins.
  private static func isUsable(_ profile: [UInt8], _ intent: String, for header: Picture) -> Bool {
    // Some faults are noted though there is no failure.
    defer { VipsLibrary.forgetFailure() }
    do throws(ImageError) {
      let black = try VipsCall("black")
      for (name, value) in [("width", 1), ("height", 1), ("bands", header.isOfInks ? 4 : header.isGrey ? 1 : 3)] {
        try black.set(name, String(value))
      }
      let copy = try VipsCall("copy")
      copy.set("in", try black.makeImage().reference)
      try copy.set("interpretation", header.isOfInks ? "cmyk" : header.isGrey ? "b-w" : "srgb")
      let pixel = try copy.makeImage()
      vips_image_set_blob_copy(pixel.image, "icc-profile-data", profile, profile.count)
      guard vips_icc_is_compatible_profile(pixel.image, profile, profile.count) != 0 else { return false }
      _ = try pixel.converted(by: "embedded", "true", intent: intent).bytes()
      return true
    } catch {
      return false
    }
  }
}
