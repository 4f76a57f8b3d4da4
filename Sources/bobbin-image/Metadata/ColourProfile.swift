internal import Foundation

/// What an ICC profile says of its colours, as far as it tells whether they are those of sRGB.
///
/// Names are of no use for that: many profiles of other colours mention sRGB somewhere, and not all of sRGB do. Source:
/// ICC.1:2010, sections 7.2, 8.3, 10.5 and 10.15.
struct ColourProfile {
  private let bytes: [UInt8]
  private let tags: [String: Range<Int>]

  init?(_ bytes: [UInt8]) {
    self.bytes = bytes
    guard let count = Self.number(bytes, 128, 4), count <= 200 else { return nil }
    var tags: [String: Range<Int>] = [:]
    for start in stride(from: 132, to: 132 + count * 12, by: 12) {
      guard let offset = Self.number(bytes, start + 4, 4), let size = Self.number(bytes, start + 8, 4),
        offset + size <= bytes.count
      else { return nil }
      tags[Self.text(bytes, start)] = offset..<offset + size
    }
    self.tags = tags
  }

  /// Of what the values are: `RGB `, `GRAY` or `CMYK`, among others.
  var space: String { Self.text(bytes, 16) }

  /// How libvips is to convert by it: relative to the white, as is usual, unless it has only a table for photographs.
  var intent: String { tags["A2B0"] != nil && tags["A2B1"] == nil && tags["rXYZ"] == nil ? "perceptual" : "relative" }

  /// Whether conversion to sRGB would leave every value of eight bits where it is, or next to it.
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
    let numbers = (0..<3).compactMap { Self.number(bytes, range.lowerBound + 8 + $0 * 4, 4) }
    return numbers.map { Double(Int32(truncatingIfNeeded: $0)) / 65_536 }
  }

  private static func number(_ bytes: [UInt8], _ start: Int, _ count: Int) -> Int? {
    guard start + count <= bytes.count else { return nil }
    return bytes[start..<start + count].reduce(0) { $0 << 8 | Int($1) }
  }

  private static func text(_ bytes: [UInt8], _ start: Int) -> String {
    String(decoding: bytes.dropFirst(start).prefix(4), as: UTF8.self)
  }
}
