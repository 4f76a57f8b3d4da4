import ObjectModel

/// A value of a row in a batch insert that has no place in a column.
struct BatchExtra {
  enum Value {
    case blob(Blob?)
    case destinations([ManagedObjectID])
  }

  /// The row in its chunk.
  let row: Int
  let property: Property
  let value: Value
}
