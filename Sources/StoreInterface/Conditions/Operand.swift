import Foundation
public import ObjectModel

/// A value in a predicate: a constant, an object, the object under test, or something computed from it.
public indirect enum Operand: Sendable, Hashable {
  /// A computation with two numbers.
  ///
  /// Two integers give an integer, and `/` cuts off the fraction, as in NSExpression; a result that 64 bits can't hold
  /// becomes a floating-point number. With a floating-point number the result is one, and so is each power. Decimal
  /// numbers stay decimal. With nil, on division by zero, and where the result is no number, it is nil.
  public enum Arithmetic: String, Sendable, Hashable {
    /// The sum.
    case add = "+"
    /// The difference.
    case subtract = "-"
    /// The product.
    case multiply = "*"
    /// The quotient; nil on division by zero.
    case divide = "/"
    /// The left number to the power of the right one.
    case power = "**"
    /// Of integers; written `modulus:by:(a, b)`.
    case remainder = "%"
  }

  /// A function of one value; of nil it is nil.
  public enum Function: String, Sendable, Hashable, CaseIterable {
    /// The number without its sign.
    case absolute = "abs"
    /// The next integer up.
    case ceiling
    /// The next integer down.
    case floor
    /// Without the fraction.
    case truncate = "trunc"
    /// The square root.
    case squareRoot = "sqrt"
    /// e to that power.
    case exponential = "exp"
    /// The logarithm to the base of e.
    case naturalLogarithm = "ln"
    /// To the base of 10.
    case logarithm = "log"
    /// The text in lower case.
    case lowercase
    /// The text in upper case.
    case uppercase
    /// The number of characters of a text.
    case length
    /// `CAST(value, 'NSNumber')`: a date's seconds since 2001, a text's or decimal's number.
    case castToNumber
    /// `CAST(value, 'NSDate')`: the date that is so many seconds after the beginning of 2001.
    case castToDate
    /// `CAST(value, 'NSString')`.
    case castToText
  }

  /// A constant.
  case value(Value)
  /// An object, by its ID.
  case object(ManagedObjectID)
  /// `SELF`, the object under test.
  case evaluatedObject
  /// Property names from the object under test, through to-one relationships: `["department", "name"]`.
  case keyPath([String])
  /// `$name`: the element that a subquery looks at, or else to be replaced by ``Condition/substituting(_:)``.
  case variable(String)
  /// `$name.property`: property names from the element that a subquery looks at.
  case variablePath(String, [String])
  /// A computation with two numbers.
  case arithmetic(Operand, Arithmetic, Operand)
  /// A function of one value.
  case function(Function, Operand)
  /// An aggregation over those objects of a to-many relationship that meet a condition; in it, and in the operand of
  /// the aggregation, the variable stands for each of them: `SUBQUERY(path, $variable, condition).@count`.
  case aggregate(Aggregation, Collection, variable: String, Condition)
  /// The name of the entity of an object, which a path to it leads to: `SELF.entity`, `boss.entity.name`.
  case entityName(Operand)

  /// An aggregation over several objects; values that are nil are left out.
  public enum Aggregation: Sendable, Hashable {
    /// The number of objects.
    case count
    /// 0 of nothing; integers that 64 bits can't hold become a floating-point number.
    case sum(Operand)
    /// Nil of nothing.
    case min(Operand)
    /// Nil of nothing.
    case max(Operand)
    /// Nil of nothing. Decimals have a decimal mean, all other numbers a floating-point one.
    case average(Operand)

    /// The operand that is computed of each object; nil for the number of objects.
    package var operand: Operand? {
      switch self {
      case .count: nil
      case .sum(let operand), .min(let operand), .max(let operand), .average(let operand): operand
      }
    }

    /// The same of another operand.
    func mapping<Failure: Error>(_ map: (Operand) throws(Failure) -> Operand) throws(Failure) -> Aggregation {
      switch self {
      case .count: .count
      case .sum(let operand): .sum(try map(operand))
      case .min(let operand): .min(try map(operand))
      case .max(let operand): .max(try map(operand))
      case .average(let operand): .average(try map(operand))
      }
    }
  }

  /// A path to a to-many relationship, from the object under test or from a subquery's element.
  public struct Collection: Sendable, Hashable {
    /// The variable that the path begins at; nil for the object under test.
    public var variable: String?
    /// The names of the properties; empty for the object itself.
    public var path: [String]

    /// The objects at the end of a path, which starts at the fetched object or at a variable of an enclosing subquery.
    public init(_ path: some Sequence<String>, from variable: String? = nil) {
      self.path = Array(path)
      self.variable = variable
    }
  }

  /// The object under test, the element that a variable stands for, or what a path from there leads to.
  package init(path names: [String], from variable: String?) {
    self =
      switch (variable, names.isEmpty) {
      case (nil, true): .evaluatedObject
      case (nil, false): .keyPath(names)
      case (let variable?, true): .variable(variable)
      case (let variable?, false): .variablePath(variable, names)
      }
  }

  /// The number of all objects of a to-many relationship.
  package static func count(of collection: Collection) -> Operand {
    .aggregate(.count, collection, variable: "_", .constant(true))
  }

  /// The beginning of a path and the names on it; nil for other operands.
  package var path: (variable: String?, names: [String])? {
    switch self {
    case .evaluatedObject: (nil, [])
    case .keyPath(let names): (nil, names)
    case .variable(let variable): (variable, [])
    case .variablePath(let variable, let names): (variable, names)
    case .value, .object, .arithmetic, .function, .aggregate, .entityName: nil
    }
  }
}

// Constants can be written as literals: `["age": 18, "name": "Ada"]`. A key path needs `.keyPath`.

extension Operand: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByStringLiteral
{
  /// A constant integer.
  public init(integerLiteral value: Int64) { self = .value(.integer(value)) }
  /// A constant floating-point number.
  public init(floatLiteral value: Double) { self = .value(.double(value)) }
  /// A constant truth value.
  public init(booleanLiteral value: Bool) { self = .value(.boolean(value)) }
  /// A constant text, and no key path.
  public init(stringLiteral value: String) { self = .value(.string(value)) }
}

extension Operand: CustomStringConvertible {
  /// The operand as a format string spells it.
  public var description: String {
    switch self {
    case .value(let value): value.predicateText
    case .object(let id): "<object \(id.key)>"
    case .evaluatedObject: "SELF"
    case .keyPath(let names): Self.path(names)
    case .variablePath(let name, let names): "$\(name).\(Self.path(names))"
    case .arithmetic(let left, .remainder, let right): "modulus:by:(\(left), \(right))"
    case .arithmetic(let left, let arithmetic, let right): "(\(left) \(arithmetic.rawValue) \(right))"
    case .function(let function, let operand):
      function.castType.map { "CAST(\(operand), '\($0)')" } ?? "\(function.rawValue):(\(operand))"
    case .aggregate(let aggregation, let collection, let variable, let condition):
      (condition == .constant(true) ? "\(collection)" : "SUBQUERY(\(collection), $\(variable), \(condition))")
        + aggregation.suffix
    case .entityName(let object): "\(object).entity"
    case .variable(let name): "$\(name)"
    }
  }
}

extension Operand {
  fileprivate static func path(_ names: [String]) -> String {
    names.map { FormatParser.keywords.contains($0.uppercased()) ? "#\($0)" : $0 }.joined(separator: ".")
  }
}

extension Operand.Aggregation {
  /// `.@count` or `.@sum.path`; the path begins at the element.
  fileprivate var suffix: String {
    let name =
      switch self {
      case .count: ".@count"
      case .sum: ".@sum"
      case .min: ".@min"
      case .max: ".@max"
      case .average: ".@avg"
      }
    guard let operand else { return name }
    return name + "." + (operand.path.map { Operand.path($0.names) } ?? "\(operand)")
  }
}

extension Operand.Function {
  /// The type that a cast leads to, as a format string names it; nil for other functions.
  var castType: String? {
    switch self {
    case .castToNumber: "NSNumber"
    case .castToDate: "NSDate"
    case .castToText: "NSString"
    default: nil
    }
  }
}

extension Operand.Collection: CustomStringConvertible {
  /// The path as it stands in a format string.
  public var description: String { (variable.map { "$\($0)." } ?? "") + Operand.path(path) }
}

extension Value {
  /// The value as a format string spells it; types without a literal are shown as the text they convert from.
  package var predicateText: String {
    switch self {
    case .null: "nil"
    case .integer(let number): "\(number)"
    case .double(let number): "\(number)"
    case .boolean(let truth): truth ? "TRUE" : "FALSE"
    case .string(let text): Self.quoted(text)
    case .decimal(let number):
      // A literal is read as a floating-point number.
      Double("\(number)").flatMap { Decimal(string: "\($0)") } == number && !number.isNaN
        ? "\(number)" : "CAST('\(number)', 'NSDecimalNumber')"
    case .date(let date): Self.quoted(date.ISO8601Format())
    case .data(let data): "<\(data.count) bytes>"
    case .uuid(let uuid): Self.quoted(uuid.uuidString)
    case .url(let url): Self.quoted(url.absoluteString)
    }
  }

  private static func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
}
