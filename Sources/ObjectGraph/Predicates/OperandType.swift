import ObjectModel

/// What an operand's values are, as far as comparing them is concerned.
package enum OperandType: Hashable, Sendable {
  case integer, real, boolean, date, decimal, text, uri, uuid
  /// Binary data: it may lie in a file, so only whether there is any can be asked.
  case data
  /// Objects of the family with that root entity.
  case object(root: String, index: UInt16)
  case null

  init(objectsOf entity: Entity) {
    self = .object(root: entity.root.name, index: UInt16(truncatingIfNeeded: entity.root.index))
  }

  init(_ type: AttributeType) {
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

  init(_ value: Value) {
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

  /// Whether values are UTF-8 text.
  package var isText: Bool { self == .text || self == .uri }

  /// The type in words for messages.
  var name: String {
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

  /// Whether two properties of these types can be compared.
  func isComparable(with other: OperandType) -> Bool {
    switch (self, other) {
    case (.data, _), (_, .data): false
    case (.integer, .real), (.real, .integer), (.integer, .decimal), (.decimal, .integer): true
    case (.text, .uri), (.uri, .text): true
    default: self == other
    }
  }
}
