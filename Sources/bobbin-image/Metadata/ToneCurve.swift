internal import Foundation

/// How much light a channel's value stands for, as an ICC profile says.
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

  /// How many numbers each kind of `para` has.
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
