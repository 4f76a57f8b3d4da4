/// The type of a column's values, by the names that a model has for it.
package enum GuessedType: String, Sendable, Hashable, CaseIterable {
  case integer16 = "Integer 16"
  case integer32 = "Integer 32"
  case integer64 = "Integer 64"
  case double = "Double"
  case decimal = "Decimal"
  case boolean = "Boolean"
  case date = "Date"
  case uuid = "UUID"
  case string = "String"
}
