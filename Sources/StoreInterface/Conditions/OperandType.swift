import Foundation
package import ObjectModel
import TextSupport

/// The type of an operand's values, as far as comparisons are concerned.
package enum OperandType: Hashable, Sendable {
  case integer, real, boolean, date, decimal, text, uri, uuid
  /// Binary data: it may lie in a file, so only whether there is any can be asked.
  case data
  /// Objects of the family with that root entity.
  case object(root: String, index: UInt16)
  case null

  package init(objectsOf entity: Entity) {
    self = .object(root: entity.root.name, index: UInt16(truncatingIfNeeded: entity.root.index))
  }

  package init(_ type: AttributeType) {
    self =
      switch type {
      case .integer16, .integer32, .integer64: .integer
      case .double, .float: .real
      case .boolean: .boolean
      case .date: .date
      case .decimal: .decimal
      case .string: .text
      case .uri: .uri
      case .uuid: .uuid
      case .binary, .transformable, .undefined: .data
      }
  }

  package init(_ value: Value) {
    self =
      switch value {
      case .null: .null
      case .integer: .integer
      case .double: .real
      case .boolean: .boolean
      case .string: .text
      case .decimal: .decimal
      case .date: .date
      case .data: .data
      case .uuid: .uuid
      case .url: .uri
      }
  }

  /// True if values are UTF-8 text.
  package var isText: Bool { self == .text || self == .uri }

  /// The type in words for messages.
  package var name: String {
    switch self {
    case .integer: "an integer"
    case .real: "a floating-point number"
    case .boolean: "a Boolean"
    case .date: "a date"
    case .decimal: "a decimal number"
    case .text: "a text"
    case .uri: "a URI"
    case .uuid: "a UUID"
    case .data: "binary data"
    case .object(let root, _): "an object of \(root)"
    case .null: "nil"
    }
  }

  /// True if two properties of these types can be compared.
  func isComparable(with other: OperandType) -> Bool {
    switch (self, other) {
    case (.data, _), (_, .data): false
    case (.integer, .real), (.real, .integer), (.integer, .decimal), (.decimal, .integer): true
    case (.text, .uri), (.uri, .text): true
    default: self == other
    }
  }
}

extension Value {
  /// The value as a constant that values of the type are compared with, or nil if there is none.
  ///
  /// Numbers need not fit the attribute: 70000 may be compared with an Integer 16. Texts become dates (ISO 8601),
  /// decimals, UUIDs and URIs, which have no other spelling in a format string.
  func comparable(with type: OperandType) -> Value? {
    switch (type, self) {
    case (.integer, .integer), (.boolean, .boolean), (.text, .string), (.uuid, .uuid), (.uri, .url): self
    case (.integer, .double(let number)), (.real, .double(let number)):
      number.isNaN ? .none : Int64(exactly: number).flatMap { type == .integer ? .integer($0) : nil } ?? self
    case (.real, .integer(let number)): Double(exactly: number).map(Value.double) ?? self
    case (.integer, .decimal(let number)), (.real, .decimal(let number)): number.comparable(with: type)
    case (.boolean, .integer(let number)): number == 0 || number == 1 ? .boolean(number == 1) : .none
    case (.date, .date(let date)): date.timeIntervalSinceReferenceDate.isNaN ? .none : self
    case (.date, .string(let text)): Date(moment: text).map(Value.date)
    case (.decimal, .decimal(let number)): number.isNaN ? .none : self
    case (.decimal, .integer(let number)): .decimal(Decimal(number))
    case (.decimal, .double(let number)): number.isFinite ? Decimal(string: "\(number)").map(Value.decimal) : .none
    case (.decimal, .string(let text)):
      DecimalKey(text) == nil ? .none : Decimal(string: text).map(Value.decimal)
    // A text that is no URI equals none, but has its place in their order.
    case (.uri, .string(let text)): URL(string: text).map(Value.url) ?? self
    case (.text, .url(let url)): .string(url.absoluteString)
    case (.uuid, .string(let text)): UUID(uuidString: text).map(Value.uuid)
    default: .none
    }
  }
}

extension Decimal {
  /// The number as an integer if it is one, else as the nearest double.
  fileprivate func comparable(with type: OperandType) -> Value? {
    if isNaN { return nil }
    if type == .integer, let number = Int64("\(self)") { return .integer(number) }
    return Double("\(self)").map(Value.double)
  }
}
