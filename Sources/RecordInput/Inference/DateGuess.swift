import DelimitedText

/// Finds out how dates are written that are not written as ISO 8601 has it.
struct DateGuess: Sendable {
  private struct Candidate: Sendable {
    let text: String
    let pattern: DatePattern
    let beginsWithMonth: Bool
  }

  private static let all: [Candidate] = {
    let days = [
      "dd.MM.yyyy", "d.M.yyyy", "dd/MM/yyyy", "d/M/yyyy", "MM/dd/yyyy", "M/d/yyyy", "yyyy/MM/dd", "dd-MM-yyyy",
      "MM-dd-yyyy", "dd-MMM-yyyy", "dd-MMM-yy", "d MMM yyyy", "MMM d, yyyy",
    ]
    let times = ["", " HH:mm", " HH:mm:ss", " h:mm a", " h:mm:ss a"]
    return days.flatMap { day in
      times.compactMap { time in
        DatePattern(day + time).map {
          Candidate(text: day + time, pattern: $0, beginsWithMonth: day.hasPrefix("M") && !day.hasPrefix("MMM"))
        }
      }
    }
  }()

  private static let longest = 24
  private var candidates = all

  /// Takes a field into account.
  mutating func add(_ field: UnsafeRawBufferPointer) {
    if field.count > Self.longest { return candidates = [] }
    candidates.removeAll { candidate in
      guard let iso = candidate.pattern.iso8601(field) else { return true }
      return iso.withUnsafeBytes { FieldParser.date($0) } == nil
    }
  }

  var isOver: Bool { candidates.isEmpty }

  /// Nil if there is none, or if nothing tells whether days or months come first.
  var result: String? {
    guard let first = candidates.first else { return nil }
    return candidates.allSatisfy { $0.beginsWithMonth == first.beginsWithMonth } ? first.text : nil
  }
}
