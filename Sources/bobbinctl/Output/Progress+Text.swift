import TextSupport

extension JobReply.Progress {
  /// Such as `40 %, 4.1 of 10.2 MB, 2 MB/s, 3 s left, checking every record first`; nil if nothing is known.
  var text: String? {
    var parts: [String] = []
    if let fraction { parts.append("\(Int(min(max(0, fraction), 1) * 100)) %") }
    if let done { parts.append(amount(done, of: total)) }
    // As long as nothing is done there is no rate to tell.
    if let ratePerSecond, ratePerSecond > 0 { parts.append(amount(ratePerSecond.rateDigits) + "/s") }
    if let secondsLeft { parts.append("\(TimeSpan.words(seconds: secondsLeft)) left") }
    if let message { parts.append(message) }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  private var counts: String { unit.map { $0.isEmpty ? "" : " \($0)" } ?? "" }

  /// Many bytes are told in a larger unit, the same for both numbers.
  private func amount(_ done: Double, of total: Double? = nil) -> String {
    guard unit == "bytes", let (name, size) = Self.scale(of: total ?? done) else {
      return done.countText + (total.map { " of \($0.countText)" } ?? "") + counts
    }
    return (done / size).decimalText + (total.map { " of \(($0 / size).decimalText)" } ?? "") + " \(name)"
  }

  private static func scale(of bytes: Double) -> (name: String, size: Double)? {
    [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)].first { bytes >= $0.1 }
  }
}

extension Double {
  /// Whole numbers without a fraction, however large.
  fileprivate var countText: String { Int(exactly: self).map { "\($0)" } ?? "\(self)" }

  /// With one decimal.
  fileprivate var decimalText: String { ((self * 10).rounded() / 10).countText }

  /// A rate is an estimate: whole from ten on, with one decimal below, and with two below one.
  fileprivate var rateDigits: Double {
    switch self {
    case 10...: rounded()
    case 1...: (self * 10).rounded() / 10
    default: (self * 100).rounded() / 100
    }
  }
}
