import Foundation

/// Small TIFF files made by hand, for kinds of samples that no tool would write.
///
/// All pixels are alike, in one strip without compression.
struct TIFFFile {
  var width = 16
  var height = 16
  var bits = 8
  /// 1 for whole numbers, 2 for signed ones, 3 for floating point.
  var form = 1
  var compression = 1
  /// The photometric interpretation.
  var kind: Int
  /// The bytes of one pixel, the lowest of each sample first.
  var pixel: [UInt8]
  /// What the channels beyond the colours are: 2 for opacity.
  var extra: [Int] = []
  var profile: [UInt8] = []
  /// Whether offsets have 64 bits.
  var isBig = false

  var bytes: [UInt8] {
    let channels = pixel.count * 8 / bits
    var tags: [(tag: Int, type: Int, values: [Int])] = [
      (256, 4, [width]), (257, 4, [height]), (258, 3, Array(repeating: bits, count: channels)),
      (259, 3, [compression]), (262, 3, [kind]), (273, 4, [0]), (277, 3, [channels]), (278, 4, [height]),
      (279, 4, [width * height * pixel.count]), (284, 3, [1]),
    ]
    // Colours in full, since half the size is what counts if nothing is said.
    if kind == 6 { tags.append((530, 3, [1, 1])) }
    if !extra.isEmpty { tags.append((338, 3, extra)) }
    if form != 1 { tags.append((339, 3, Array(repeating: form, count: channels))) }
    if !profile.isEmpty { tags.append((34675, 7, profile.map { Int($0) })) }
    tags.sort { $0.tag < $1.tag }
    let start = isBig ? 16 : 8
    let valuesStart = start + (isBig ? 8 + 20 * tags.count + 8 : 2 + 12 * tags.count + 4)
    let sizes = [3: 2, 4: 4, 7: 1]
    let width = isBig ? 8 : 4
    let outside = tags.map { $0.values.count * sizes[$0.type]! }.filter { $0 > width }.reduce(0) { $0 + $1 + $1 % 2 }
    tags[tags.firstIndex { $0.tag == 273 }!].values = [valuesStart + outside]
    var directory = Self.number(tags.count, isBig ? 8 : 2)
    var values: [UInt8] = []
    for (tag, type, numbers) in tags {
      let bytes = numbers.flatMap { Self.number($0, sizes[type]!) }
      directory += Self.number(tag, 2) + Self.number(type, 2) + Self.number(numbers.count, width)
      if bytes.count > width {
        directory += Self.number(valuesStart + values.count, width)
        values += bytes + [UInt8](repeating: 0, count: bytes.count % 2)
      } else {
        directory += bytes + [UInt8](repeating: 0, count: width - bytes.count)
      }
    }
    let head = Array("II".utf8) + (isBig ? [43, 0, 8, 0, 0, 0] : [42, 0]) + Self.number(start, width)
    let pixels = Array(repeatElement(pixel, count: self.width * height).joined())
    return head + directory + Self.number(0, width) + values + pixels
  }

  static func number(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}

/// A colour profile for four inks that is like that of no press, so that nobody can have guessed it.
enum InkProfile {
  /// Source: ICC.1:2001-04, sections 6.1 and 6.5.6 (lut8Type).
  static var bytes: [UInt8] {
    let lookup =
      Array("mft1".utf8) + [0, 0, 0, 0, 4, 3, 2, 0]
      + [1, 0, 0, 0, 1, 0, 0, 0, 1].flatMap { fixed($0) }
      + inputs + corners + Array(inputs.prefix(768))
    let description =
      Array("desc".utf8) + big(0, 4) + big(5, 4) + Array("inks\0".utf8) + [UInt8](repeating: 0, count: 78)
    let tags = [
      ("desc", description), ("A2B0", lookup),
      ("wtpt", Array("XYZ ".utf8) + big(0, 4) + white), ("cprt", Array("text".utf8) + big(0, 4) + Array("none\0".utf8)),
    ]
    let start = 128 + 4 + 12 * tags.count
    var table = big(tags.count, 4)
    var body: [UInt8] = []
    for (name, content) in tags {
      table += Array(name.utf8) + big(start + body.count, 4) + big(content.count, 4)
      body += content + [UInt8](repeating: 0, count: (4 - content.count % 4) % 4)
    }
    var head = big(start + body.count, 4) + big(0, 4) + [2, 0x40, 0, 0] + Array("prtrCMYKLab ".utf8)
    head += [2020, 1, 1, 0, 0, 0].flatMap { big($0, 2) } + Array("acsp".utf8)
    head += [UInt8](repeating: 0, count: 24) + big(1, 4) + white
    return head + [UInt8](repeating: 0, count: 128 - head.count) + table + body
  }

  private static var inputs: [UInt8] { Array(repeatElement(Array(0...255 as ClosedRange<UInt8>), count: 4).joined()) }
  private static var white: [UInt8] { fixed(0.9642) + fixed(1) + fixed(0.8249) }

  /// The Lab colours of all inks with and without each other; cyan is rather green here, and magenta blue.
  private static var corners: [UInt8] {
    (0..<16).flatMap { corner -> [UInt8] in
      let (c, m, y, k) = (Double(corner >> 3 & 1), Double(corner >> 2 & 1), Double(corner >> 1 & 1), corner & 1)
      let share = k == 1 ? 0.1 : 1
      let lightness = max(20, 255 - 90 * c - 110 * m - 25 * y) * (k == 1 ? 0.12 : 1)
      let (a, b) = ((-70 * c + 25 * m - 5 * y) * share, (20 * c - 70 * m + 60 * y) * share)
      return [lightness, 128 + a, 128 + b].map { UInt8(max(0, min(255, $0))) }
    }
  }

  private static func fixed(_ number: Double) -> [UInt8] { big(Int((number * 65_536).rounded()), 4) }

  private static func big(_ number: Int, _ count: Int) -> [UInt8] { TIFFFile.number(number, count).reversed() }
}
