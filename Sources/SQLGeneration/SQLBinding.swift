/// A value for a parameter of a statement.
package enum SQLBinding: Sendable, Hashable {
  case null
  case integer(Int64)
  case double(Double)
  case text(String)
  case blob([UInt8])
}
