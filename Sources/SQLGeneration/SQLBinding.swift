internal import Foundation
package import ObjectModel
import StoreInterface

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

extension SQLBinding {
  /// A value as the column of an attribute of the type holds it.
  package init(_ value: Value, as type: AttributeType) {
    self =
      switch value {
      case .null: .null
      case .integer(let number): type.storage == .real ? .double(Double(number)) : .integer(number)
      case .double(let number): .double(number)
      case .boolean(let value): .integer(value ? 1 : 0)
      case .string(let text): .text(text)
      case .decimal(let number): .text(number.description)
      case .date(let date): .double(date.timeIntervalSinceReferenceDate)
      case .data(let data): .blob(Array(data))
      case .uuid(let uuid): .blob(withUnsafeBytes(of: uuid.uuid) { Array($0) })
      case .url(let url): .text(url.absoluteString)
      }
  }
}
