import Foundation
import ObjectModel

extension Value {
  /// The value as a constant that values of the type are compared with, or nil if there is none.
  ///
  /// Numbers need not fit the attribute: 70000 may be compared with an Integer 16. Texts become dates (ISO 8601),
  /// decimals, UUIDs and URIs, which have no other spelling in a format string.
  func comparable(with type: OperandType) -> Value? {
    switch (type, self) {
    case (.integer, .integer), (.boolean, .boolean), (.text, .string), (.uuid, .uuid), (.uri, .url): self
    case (.integer, .double(let number)), (.real, .double(let number)):
      number.isNaN ? .none : Int64(exactly: number).flatMap { type == .integer ? .integer($0) : nil } ?? self
    case (.real, .integer(let number)): Double(exactly: number).map(Value.double) ?? self
    case (.integer, .decimal(let number)), (.real, .decimal(let number)): number.comparable(with: type)
    case (.boolean, .integer(let number)): number == 0 || number == 1 ? .boolean(number == 1) : .none
    case (.date, .date(let date)): date.timeIntervalSinceReferenceDate.isNaN ? .none : self
    case (.date, .string(let text)): (try? Date(text, strategy: .iso8601)).map(Value.date)
    case (.decimal, .decimal(let number)): number.isNaN ? .none : self
    case (.decimal, .integer(let number)): .decimal(Decimal(number))
    case (.decimal, .double(let number)): number.isFinite ? Decimal(string: "\(number)").map(Value.decimal) : .none
    case (.decimal, .string(let text)):
      DecimalKey(text) == nil ? .none : Decimal(string: text).map(Value.decimal)
    // A text that is no URI equals none, but has its place in their order.
    case (.uri, .string(let text)): URL(string: text).map(Value.url) ?? self
    case (.text, .url(let url)): .string(url.absoluteString)
    case (.uuid, .string(let text)): UUID(uuidString: text).map(Value.uuid)
    default: .none
    }
  }
}

extension Decimal {
  /// The number as an integer if it is one, else as the nearest double.
  fileprivate func comparable(with type: OperandType) -> Value? {
    if isNaN { return nil }
    if type == .integer, let number = Int64("\(self)") { return .integer(number) }
    return Double("\(self)").map(Value.double)
  }
}
