/// What a group of faults has shown; printed at its end.
struct FaultFigures {
  let name: String
  var faults = 0
  /// Faults that struck a daemon which had work to do.
  var struck = 0
  var jobs = 0
  var losses = 0
  var repeats = 0
  var others = 0
  private let start = ContinuousClock.now

  init(_ name: String) { self.name = name }

  mutating func count(_ problems: [Problem]) {
    losses += problems.count { $0.kind == .loss }
    repeats += problems.count { $0.kind == .repetition }
    others += problems.count { $0.kind == .other }
  }

  func tell(_ more: String = "") {
    let seconds = Int((start.duration(to: .now) / .seconds(1)).rounded())
    print(
      "faults: \(name): \(faults) tried (\(struck) met work), \(jobs) jobs, \(losses) lost, \(repeats) repeated, "
        + "\(others) other problems, \(seconds) s, seed \(FaultPlan.seed)" + (more.isEmpty ? "" : "; " + more))
  }
}

/// Something that must not be after a fault.
struct Problem: Sendable, CustomStringConvertible {
  enum Kind: Sendable { case loss, repetition, other }

  let kind: Kind
  let description: String
}
