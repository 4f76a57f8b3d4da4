import Foundation
package import ObjectModel
import StoreInterface

/// A piece of SQL with the values of its parameters, in the order of its question marks.
package struct SQLSegment: Sendable, Hashable {
  package private(set) var text: String
  package private(set) var bindings: [SQLBinding]

  /// - Parameter text: SQL that holds no values.
  package init(_ text: String = "") {
    self.text = text
    bindings = []
  }

  /// A parameter.
  package init(binding: SQLBinding) {
    text = "?"
    bindings = [binding]
  }

  package mutating func append(_ text: String) { self.text += text }

  package mutating func append(_ other: SQLSegment) {
    text += other.text
    bindings += other.bindings
  }

  package static func + (left: SQLSegment, right: SQLSegment) -> SQLSegment {
    var result = left
    result.append(right)
    return result
  }

  package static func + (left: SQLSegment, right: String) -> SQLSegment {
    var result = left
    result.append(right)
    return result
  }

  package static func + (left: String, right: SQLSegment) -> SQLSegment { SQLSegment(left) + right }
}

extension SQLSegment {
  /// The segment with `$1`, `$2` and so on in place of its question marks; those in names and literals stay.
  var numbered: SQLSegment {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count + bindings.count)
    var quote: UInt8?
    var number = 0
    for byte in text.utf8 {
      if byte == UInt8(ascii: "?"), quote == nil {
        number += 1
        bytes.append(contentsOf: "$\(number)".utf8)
        continue
      }
      // A doubled quote ends a name and begins another one, which comes to the same.
      if let open = quote {
        if byte == open { quote = nil }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
      }
      bytes.append(byte)
    }
    precondition(number == bindings.count, "a segment has other parameters than values")
    var result = self
    result.text = String(decoding: bytes, as: UTF8.self)
    return result
  }
}

extension Sequence<SQLSegment> {
  /// The segments one after the other, with a separator between them.
  package func joined(separator: String) -> SQLSegment {
    var result = SQLSegment()
    for (index, segment) in enumerated() {
      if index > 0 { result.append(separator) }
      result.append(segment)
    }
    return result
  }
}

/// A value for a parameter of a statement.
package enum SQLBinding: Sendable, Hashable {
  case null
  case integer(Int64)
  case double(Double)
  case text(String)
  case blob([UInt8])
  /// Several values of one type, for dialects that have arrays.
  case array(SQLArray)
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
