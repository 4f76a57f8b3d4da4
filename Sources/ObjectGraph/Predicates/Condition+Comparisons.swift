extension Condition.Comparison {
  /// The comparison with both sides exchanged; nil for those of texts.
  var mirrored: Self? {
    switch self {
    case .equal, .notEqual: self
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    case .beginsWith, .endsWith, .contains, .like, .matches: nil
    }
  }

  /// Whether it is defined for texts only.
  package var isOfTexts: Bool { mirrored == nil }

  /// Whether it asks for more than equality.
  var isOrdering: Bool { self != .equal && self != .notEqual }
}
