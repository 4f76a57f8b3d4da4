/// A word of a format string.
struct FormatToken {
  enum Kind: Equatable {
    /// A keyword or a property's name.
    case name(String)
    /// `#name`, which is never a keyword.
    case escapedName(String)
    case number(String)
    case string(String)
    /// An operator or a bracket.
    case symbol(String)
    /// `%@`, `%K`, `%ld` without the percent sign.
    case argument(String)
    /// `$name`.
    case variable(String)
    case end
  }

  let kind: Kind
  /// The position of its first Unicode scalar, from 0.
  let start: Int
  /// The position after its last one.
  let end: Int

  /// The name in capitals if it may be a keyword.
  var keyword: String? { if case .name(let name) = kind { name.uppercased() } else { nil } }

  /// Whether it compares what stands before it.
  var isComparison: Bool {
    switch kind {
    case .symbol(let symbol): FormatParser.symbols[symbol] != nil
    case .name: keyword.map { FormatParser.words[$0] != nil || $0 == "IN" || $0 == "BETWEEN" } ?? false
    default: false
    }
  }

  func isSymbol(_ symbol: String) -> Bool { kind == .symbol(symbol) }
}
