/// The type of an attribute's values, as the model editor names it.
public enum AttributeType: String, Sendable, Hashable, CaseIterable {
  case integer16 = "Integer 16"
  case integer32 = "Integer 32"
  case integer64 = "Integer 64"
  case decimal = "Decimal"
  case double = "Double"
  case float = "Float"
  case string = "String"
  case boolean = "Boolean"
  case date = "Date"
  case binary = "Binary"
  case uuid = "UUID"
  case uri = "URI"
  case transformable = "Transformable"

  /// How values of this type lie in a row and in a column.
  public var storage: StorageClass {
    switch self {
    case .integer16, .integer32, .integer64, .boolean: .integer
    case .double, .float, .date: .real
    case .string, .uri, .decimal: .text
    case .uuid: .bytes
    case .binary, .transformable: .blob
    }
  }
}
