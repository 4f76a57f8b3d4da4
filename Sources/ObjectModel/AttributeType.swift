/// The type of an attribute's values, as the model editor names it.
public enum AttributeType: String, Sendable, Hashable, CaseIterable {
  /// From -32,768 to 32,767.
  case integer16 = "Integer 16"
  /// From -2,147,483,648 to 2,147,483,647.
  case integer32 = "Integer 32"
  /// All 64-bit integers.
  case integer64 = "Integer 64"
  /// Numbers of up to 38 decimal digits, exactly.
  case decimal = "Decimal"
  /// Floating-point numbers of 64 bits.
  case double = "Double"
  /// Floating-point numbers of 32 bits.
  case float = "Float"
  /// Unicode text.
  case string = "String"
  /// True or false.
  case boolean = "Boolean"
  /// A moment, kept as seconds since 2001-01-01T00:00:00Z.
  case date = "Date"
  /// Bytes; large ones in a file beside the store, if the attribute allows it.
  case binary = "Binary"
  /// A UUID of 16 bytes.
  case uuid = "UUID"
  /// A URI, kept as its text.
  case uri = "URI"
  /// A value of a Swift type, kept as bytes.
  case transformable = "Transformable"
  /// Any `Sendable` value, of a transient attribute only: it lives in memory and is never stored.
  case undefined = "Undefined"

  /// The storage of values of this type in a row and in a column.
  public var storage: StorageClass {
    switch self {
    case .integer16, .integer32, .integer64, .boolean: .integer
    case .double, .float, .date: .real
    case .string, .uri, .decimal: .text
    case .uuid: .bytes
    case .binary, .transformable, .undefined: .blob
    }
  }
}

/// The storage of one property's values in a row buffer and in a store's column.
public enum StorageClass: UInt8, Sendable, Hashable {
  /// A 64-bit integer in the property's word: integers and Booleans.
  case integer
  /// An IEEE 754 double in the property's word: numbers, and dates as seconds since 2001-01-01T00:00:00Z.
  case real
  /// UTF-8 in the row's tail: strings, URIs and decimals (as their decimal digits).
  case text
  /// A few bytes in the row's tail: UUIDs.
  case bytes
  /// Binary data kept by reference, so that copying a row never copies it.
  case blob
  /// The object ID of a to-one relationship's destination.
  case reference
  /// Nothing in the row: the destinations of a to-many relationship are found through its inverse or a join table.
  case toMany

  /// True if the property has a value in the row.
  public var isStored: Bool { self != .toMany }
}
