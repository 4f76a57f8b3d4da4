import JSONText
import TestSupport

/// Random values and texts that are the same in each run.
struct RandomSource: RandomNumberGenerator {
  private var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  mutating func next() -> UInt64 { generator.next() }

  /// A value with at most `depth` arrays and objects inside each other.
  mutating func value(depth: Int) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &self) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &self))
    case 2: return .integer(Int64.random(in: -1000...1000, using: &self))
    case 3: return .integer(Int64(truncatingIfNeeded: next()))
    case 4: return .number(number())
    case 5: return .string(string())
    case 6: return .array((0..<Int.random(in: 0..<6, using: &self)).map { _ in value(depth: depth - 1) })
    default:
      var object = JSONObject()
      for _ in 0..<Int.random(in: 0..<20, using: &self) { object[string()] = value(depth: depth - 1) }
      return .object(object)
    }
  }

  private mutating func number() -> Double {
    if Bool.random(using: &self) { return Double(Int.random(in: -100_000...100_000, using: &self)) / 1000 }
    let number = Double(bitPattern: next())
    return number.isFinite ? number : 0.1
  }

  private mutating func string() -> String {
    var scalars = String.UnicodeScalarView()
    for _ in 0..<Int.random(in: 0..<12, using: &self) {
      let limits: [UInt32] = [0x20, 0x7F, 0x7F, 0x800, 0x11_0000]
      let limit = limits[Int.random(in: 0..<limits.count, using: &self)]
      if let scalar = Unicode.Scalar(UInt32.random(in: 0..<limit, using: &self)) { scalars.append(scalar) }
    }
    return String(scalars)
  }
}
