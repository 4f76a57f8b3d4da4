import ObjectGraph

/// A value for a parameter of a statement.
package enum SQLBinding: Sendable, Hashable {
  case null
  case integer(Int64)
  case double(Double)
  case text(String)
  case blob([UInt8])
}

extension SQLBinding {
  init(_ value: ComputedValue) {
    self =
      switch value {
      case .null: .null
      case .integer(let number): .integer(number)
      case .real(let number): .double(number)
      case .decimal(let number): .text("\(number)")
      case .text(let text): .text(text)
      }
  }
}
