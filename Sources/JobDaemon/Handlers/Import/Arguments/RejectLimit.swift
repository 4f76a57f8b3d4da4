import JSONText
import Jobs

/// How many records may be bad.
enum RejectLimit: Sendable, Equatable {
  case count(Int64)
  /// A share of all records, from 0 to 1.
  case share(Double)

  static let none = RejectLimit.count(0)

  init(_ value: JSONValue, _ reader: ArgumentReader, _ key: String) throws(JobFileError) {
    if let count = value.integer, count >= 0 {
      self = .count(count)
    } else if let text = value.string, text.hasSuffix("%"), let percent = Double(text.dropLast()),
      (0...100).contains(percent)
    {
      self = .share(percent / 100)
    } else {
      throw reader.error("must be a number of records or a share such as \"5%\"", key)
    }
  }

  /// Whether so many are too many, given the number of all records.
  func isExceeded(by rejects: Int64, of records: Int64) -> Bool {
    switch self {
    case .count(let limit): rejects > limit
    case .share(let share): Double(rejects) > share * Double(records)
    }
  }

  /// The limit as a number, once the number of records is known.
  func resolved(records: Int64) -> RejectLimit {
    if case .share(let share) = self { .count(Int64(share * Double(records))) } else { self }
  }
}

/// What becomes of an import with too many bad records.
enum RejectPolicy: String, CaseIterable, Sendable {
  /// It fails, and what it has imported is taken back.
  case rollBack
  /// It is held as it is; resumed, it goes on without a limit.
  case hold
}
