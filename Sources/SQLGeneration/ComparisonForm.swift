import Foundation
import ObjectModel
import StoreInterface

/// The form into which both sides of a comparison are brought, by a function for columns and in Swift for constants.
enum ComparisonForm: Sendable, Hashable {
  case plain
  case folded(Condition.TextOptions)
  case decimal
  /// What ``TextOrder/localizedStandard`` compares.
  case standardKey

  init(_ type: OperandType, _ options: Condition.TextOptions) {
    self = type == .decimal ? .decimal : options.isEmpty ? .plain : .folded(options)
  }

  init(_ type: OperandType, sortedBy order: TextOrder) {
    switch order {
    case .codePoints: self.init(type, [])
    case .caseInsensitive: self.init(type, .caseInsensitive)
    case .localizedStandard: self = .standardKey
    }
  }

  /// A column in this form.
  func column(_ column: String) -> String { applied(to: SQLSegment(column)).text }

  /// A computed value in this form.
  func applied(to value: SQLSegment) -> SQLSegment {
    switch self {
    case .plain: value
    case .folded(let options): "\(SQLFunction.fold.name)(" + value + ", \(options.rawValue))"
    case .decimal: "\(SQLFunction.decimalKey.name)(" + value + ")"
    case .standardKey: "\(SQLFunction.standardKey.name)(" + value + ")"
    }
  }

  /// A constant in this form.
  func binding(_ value: Value) -> SQLBinding {
    switch value {
    case .null, .data: .null
    case .integer(let number): self == .decimal ? decimal("\(number)") : .integer(number)
    case .boolean(let truth): .integer(truth ? 1 : 0)
    case .double(let number): number.isNaN ? .null : .double(number)
    case .date(let date): .double(date.timeIntervalSinceReferenceDate)
    case .string(let string): text(string)
    case .url(let url): text(url.absoluteString)
    case .decimal(let number): self == .decimal ? decimal("\(number)") : .text("\(number)")
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { .blob(Array($0)) }
    }
  }

  private func text(_ text: String) -> SQLBinding {
    if case .folded(let options) = self { .text(TextFolding.fold(text, options)) } else { .text(text) }
  }

  private func decimal(_ text: String) -> SQLBinding { DecimalKey(text).map { .blob($0.bytes) } ?? .null }
}
