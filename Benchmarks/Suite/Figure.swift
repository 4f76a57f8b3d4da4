import JSONText

/// One measured figure, against its peer and its target.
struct Figure {
  /// What is compared with the target.
  enum Measure { case ours, ratio }
  enum Target {
    case atMost(Double)
    case atLeast(Double)

    func holds(_ value: Double) -> Bool {
      switch self {
      case .atMost(let limit): value <= limit
      case .atLeast(let limit): value >= limit
      }
    }
  }

  let name: String
  let unit: String
  /// Ours of each run.
  let ours: [Double]
  /// The peer's of each run; empty if there is none.
  let peer: [Double]
  let peerName: String
  var measure = Measure.ratio
  var target: Target?
  /// The largest resident memory of our process, in bytes.
  var peakMemory: Int?

  /// Ours by the peer's, pair by pair.
  var ratios: [Double] { zip(ours, peer).map { $0 / $1 } }

  /// What the target is held against: the median of all pairs.
  var value: Double { measure == .ratio ? ratios.median : ours.median }

  var holds: Bool? { target.map { $0.holds(value) } }

  var json: JSONValue {
    .object([
      "name": .string(name), "unit": .string(unit), "ours": .number(ours.median),
      "peer": peer.isEmpty ? .null : .number(peer.median), "peerName": .string(peerName),
      "ratio": peer.isEmpty ? .null : .number(ratios.median),
      "oursOfEachRun": .array(ours.map(JSONValue.number)), "peerOfEachRun": .array(peer.map(JSONValue.number)),
      "target": target.map { .string($0.text(measure, unit)) } ?? .null, "holds": holds.map(JSONValue.bool) ?? .null,
      "peakResidentBytes": peakMemory.map { .integer(Int64($0)) } ?? .null,
    ])
  }
}

extension Figure.Target {
  /// The target for people, such as "ratio <= 1.2".
  func text(_ measure: Figure.Measure, _ unit: String) -> String {
    let subject = measure == .ratio ? "ratio " : ""
    let ending = measure == .ratio ? "" : " \(unit)"
    return switch self {
    case .atMost(let limit): "\(subject)<= \(limit.short)\(ending)"
    case .atLeast(let limit): "\(subject)>= \(limit.short)\(ending)"
    }
  }
}

extension [Double] {
  /// The middle value; of an even number the mean of the two in the middle.
  var median: Double {
    if isEmpty { return .nan }
    let sorted = sorted()
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
  }
}

extension Double {
  /// Three significant digits, or a whole number.
  var short: String {
    if !isFinite { return "-" }
    let size = magnitude
    let digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    let rounded = (self * scale).rounded() / scale
    return rounded == rounded.rounded() && rounded.magnitude < 1e15 ? String(Int(rounded)) : String(rounded)
  }
}
