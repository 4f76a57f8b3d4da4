/// The computation of a derived attribute at each save, read from its expression.
///
/// The expressions are those of the model editor: `name`, `author.name`, `canonical:(name)`, `lowercase:(name)`,
/// `uppercase:(name)`, `items.@count`, `items.@sum.price` (or `sum:(items.price)`), `@min`, `@max`, `@avg`, and `now()`.
public struct Derivation: Sendable, Hashable {
  /// The operation on the values.
  public enum Operation: String, Sendable, Hashable {
    /// The value as it is.
    case copy
    /// The text without regard to case and marks.
    case canonical
    /// The text in lower case.
    case lowercase
    /// The text in upper case.
    case uppercase
    /// The number of objects.
    case count
    /// The sum of values that are not nil; 0 if there are none.
    case sum
    /// The smallest value; nil if there are none.
    case min
    /// The largest value; nil if there are none.
    case max
    /// The mean of values that are not nil; nil if there are none.
    case average
    /// The time of the save that writes the object.
    case now

    /// True if values of several objects are taken together.
    public var isAggregate: Bool {
      switch self {
      case .count, .sum, .min, .max, .average: true
      case .copy, .canonical, .lowercase, .uppercase, .now: false
      }
    }
  }

  /// The operation on the values at the end of the path.
  public let operation: Operation
  /// The names of relationships from the object; the last one of an aggregate is to-many, all others are to-one.
  public let relationships: [String]
  /// The name of the attribute at their end; nil if it is only counted, or the time.
  public let attribute: String?

  /// Reads an expression; nil if it is none of the known ones.
  init?(_ expression: String) {
    let text = expression.filter { !$0.isWhitespace }
    if text == "now()" {
      self.init(.now, [])
      return
    }
    if let function = text.wholeMatch(of: /([A-Za-z]+):\((.+)\)/) {
      guard let operation = Self.operation(named: String(function.1)) else { return nil }
      self.init(operation, String(function.2).split(separator: ".", omittingEmptySubsequences: false).map(String.init))
    } else {
      var names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      var operation = Operation.copy
      if let place = names.firstIndex(where: { $0.hasPrefix("@") }) {
        guard let named = Self.operation(named: String(names.remove(at: place).dropFirst())), named.isAggregate else {
          return nil
        }
        operation = named
      }
      self.init(operation, names)
    }
    let names = relationships + (attribute.map { [$0] } ?? [])
    let isName: (String) -> Bool = { name in
      (name.first?.isLetter == true || name.first == "_") && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }
    guard !names.isEmpty, names.allSatisfy(isName), operation != .now else { return nil }
    // An aggregate needs a relationship.
    if operation.isAggregate, relationships.isEmpty { return nil }
  }

  private init(_ operation: Operation, _ names: [String]) {
    self.operation = operation
    let hasAttribute = operation != .count && operation != .now
    relationships = hasAttribute ? names.dropLast() : names
    attribute = hasAttribute ? names.last : nil
  }

  private static func operation(named name: String) -> Operation? {
    switch name.lowercased() {
    case "canonical": .canonical
    case "lowercase": .lowercase
    case "uppercase": .uppercase
    case "count": .count
    case "sum": .sum
    case "min": .min
    case "max": .max
    case "avg", "average": .average
    default: nil
    }
  }
}
