import CVIPS
import Foundation
import ImageProtocol

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
    // Where libvips can't use a profile, it silently uses one of its own.
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

  /// The intent for converting colours by it; nil if they can't be converted, or need not be.
  var intent: String? {
    guard case .usable(let intent) = self else { return nil }
    return intent
  }

  /// A note for the reply.
  var note: String? {
    guard case .unusable = self else { return nil }
    return "the colour profile is damaged or not for such pictures, and counts as none"
  }

  /// True if colours can be converted, tried on one pixel: little CMS looks at all of a profile when it begins.
  private static func isUsable(_ profile: [UInt8], _ intent: String, for header: Picture) -> Bool {
    // Some faults are noted without a failure.
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

/// The colours of an ICC profile, as far as needed to tell whether they are those of sRGB.
///
/// Names don't help: many profiles of other colours mention sRGB somewhere, and not all of sRGB do. Source:
/// ICC.1:2010, sections 7.2, 8.3, 10.5 and 10.15.
struct ColourProfile {
  private let bytes: [UInt8]
  private let tags: [String: Range<Int>]

  init?(_ bytes: [UInt8]) {
    self.bytes = bytes
    guard let count = Self.number(bytes, at: 128, count: 4), count <= 200 else { return nil }
    var tags: [String: Range<Int>] = [:]
    for start in stride(from: 132, to: 132 + count * 12, by: 12) {
      guard let offset = Self.number(bytes, at: start + 4, count: 4),
        let size = Self.number(bytes, at: start + 8, count: 4),
        offset + size <= bytes.count
      else { return nil }
      tags[Self.text(bytes, start)] = offset..<offset + size
    }
    self.tags = tags
  }

  /// Of what the values are: `RGB `, `GRAY` or `CMYK`, among others.
  var space: String { Self.text(bytes, 16) }

  /// The intent for libvips: relative to the white, as is usual, unless the profile has only a table for photographs.
  var intent: String { tags["A2B0"] != nil && tags["A2B1"] == nil && tags["rXYZ"] == nil ? "perceptual" : "relative" }

  /// True if conversion to sRGB would leave every value of eight bits where it is, or next to it.
  var isScreen: Bool {
    guard bytes.count >= 132, Self.text(bytes, 20) == "XYZ ", tags["A2B0"] == nil else { return false }
    switch space {
    case "GRAY": return hasScreenCurve("kTRC")
    case "RGB ":
      return Self.primaries.allSatisfy { tag, wanted in
        guard let found = point(tag) else { return false }
        return zip(found, wanted).allSatisfy { abs($0 - $1) < 0.001 }
      } && ["rTRC", "gTRC", "bTRC"].allSatisfy(hasScreenCurve)
    default: return false
    }
  }

  /// The primaries of IEC 61966-2-1, adapted to D50 as profiles have them.
  private static let primaries = [
    ("rXYZ", [0.4361, 0.2225, 0.0139]), ("gXYZ", [0.3851, 0.7169, 0.0971]), ("bXYZ", [0.1431, 0.0606, 0.7141]),
  ]

  private func hasScreenCurve(_ tag: String) -> Bool {
    guard let range = tags[tag], let curve = ToneCurve(bytes[range]) else { return false }
    return (0...255).allSatisfy { step in
      let value = Double(step) / 255
      return abs(ToneCurve.screenValue(ofLight: curve.light(value)) - value) <= 1.0 / 255
    }
  }

  private func point(_ tag: String) -> [Double]? {
    guard let range = tags[tag], range.count >= 20 else { return nil }
    let numbers = (0..<3).compactMap { Self.number(bytes, at: range.lowerBound + 8 + $0 * 4, count: 4) }
    return numbers.map { Double(Int32(truncatingIfNeeded: $0)) / 65_536 }
  }

  private static func number(_ bytes: [UInt8], at start: Int, count: Int) -> Int? {
    guard start + count <= bytes.count else { return nil }
    return bytes[start..<start + count].reduce(0) { $0 << 8 | Int($1) }
  }

  private static func text(_ bytes: [UInt8], _ start: Int) -> String {
    String(decoding: bytes.dropFirst(start).prefix(4), as: UTF8.self)
  }
}

/// The curve of an ICC profile from a channel's value to light.
struct ToneCurve {
  private enum Form {
    /// Evenly spread samples, with straight lines between.
    case samples([Double])
    /// A power with a straight part at its beginning; the numbers of ICC.1:2010, table 65: g a b c d e f.
    case power([Double])
  }

  private let form: Form

  /// - Parameter bytes: a tag of the type `curv` or `para`.
  init?(_ bytes: ArraySlice<UInt8>) {
    let numbers = { (start: Int, size: Int, count: Int) -> [Int]? in
      guard bytes.count >= start + size * count else { return nil }
      return (0..<count).map { index in
        bytes.dropFirst(start + index * size).prefix(size).reduce(0) { $0 << 8 | Int($1) }
      }
    }
    switch String(decoding: bytes.prefix(4), as: UTF8.self) {
    case "curv":
      guard let count = numbers(8, 4, 1)?.first, let values = numbers(12, 2, count) else { return nil }
      switch count {
      case 0: form = .samples([0, 1])
      case 1: form = .power([Double(values[0]) / 256, 1, 0, 0, 0, 0, 0])
      default: form = .samples(values.map { Double($0) / 65_535 })
      }
    case "para":
      guard let kind = numbers(8, 2, 1)?.first, Self.counts.indices.contains(kind),
        let values = numbers(12, 4, Self.counts[kind])
      else { return nil }
      let p = values.map { Double(Int32(truncatingIfNeeded: $0)) / 65_536 }
      switch kind {
      case 0: form = .power([p[0], 1, 0, 0, 0, 0, 0])
      case 1: form = .power([p[0], p[1], p[2], 0, -p[2] / p[1], 0, 0])
      case 2: form = .power([p[0], p[1], p[2], 0, -p[2] / p[1], p[3], p[3]])
      case 3: form = .power(p + [0, 0])
      default: form = .power(p)
      }
    default: return nil
    }
  }

  /// The count of numbers of each kind of `para`.
  private static let counts = [1, 3, 4, 5, 7]

  /// The light, from 0 to 1, of a value from 0 to 1.
  func light(_ value: Double) -> Double {
    switch form {
    case .samples(let samples):
      let position = value * Double(samples.count - 1)
      let index = min(Int(position), samples.count - 2)
      return samples[index] + (samples[index + 1] - samples[index]) * (position - Double(index))
    case .power(let p):
      return value >= p[4] ? pow(p[1] * value + p[2], p[0]) + p[5] : p[3] * value + p[6]
    }
  }

  /// The value that stands for this light in sRGB.
  static func screenValue(ofLight light: Double) -> Double {
    light <= 0.003_130_8 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
  }
}
