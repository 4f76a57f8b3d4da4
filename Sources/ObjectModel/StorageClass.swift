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
