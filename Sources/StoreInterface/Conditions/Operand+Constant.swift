import Foundation
import ObjectModel

extension Operand {
  /// Makes an operand of a value that a `#Predicate` captured or that was passed as an argument; nil for other types.
  package init?(constant: Any) {
    switch constant {
    case let operand as Operand: self = operand
    case let value as Value: self = .value(value)
    case let id as ManagedObjectID: self = .object(id)
    case let object as any IdentifiedObject: self = .object(object.objectID)
    case let entity as Entity: self = .value(.string(entity.name))
    case let text as String: self = .value(.string(text))
    case let text as Substring: self = .value(.string(String(text)))
    case let character as Character: self = .value(.string(String(character)))
    case let truth as Bool: self = .value(.boolean(truth))
    case let number as any BinaryInteger:
      guard let number = Int64(exactly: number) else { return nil }
      self = .value(.integer(number))
    case let number as Double: self = .value(.double(number))
    case let number as Float: self = .value(.double(Double(number)))
    case let number as Decimal: self = .value(.decimal(number))
    case let date as Date: self = .value(.date(date))
    case let data as Data: self = .value(.data(data))
    case let uuid as UUID: self = .value(.uuid(uuid))
    case let url as URL: self = .value(.url(url))
    case let optional as any OptionalConstant:
      guard let wrapped = optional.wrapped else {
        self = .value(.null)
        return
      }
      self.init(constant: wrapped)
    case is NSNull: self = .value(.null)
    case let raw as any RawRepresentable: self.init(constant: raw.rawValue)
    default: return nil
    }
  }

  /// Returns the operands of a collection of constants; nil if it is no collection, or an element has no equivalent.
  package static func list(of collection: Any) -> [Operand]? {
    // As most are; a cast of each element is slow.
    if let texts = collection as? [String] { return texts.map { .value(.string($0)) } }
    guard let sequence = collection as? any Sequence, !(collection is String), !(collection is Data) else { return nil }
    return elements(of: sequence)
  }

  private static func elements(of sequence: some Sequence) -> [Operand]? {
    var operands: [Operand] = []
    for element in sequence {
      guard let operand = Operand(constant: element) else { return nil }
      operands.append(operand)
    }
    return operands
  }
}

/// A way to detect an optional in a value of unknown type.
private protocol OptionalConstant {
  var wrapped: Any? { get }
}

extension Optional: OptionalConstant {
  fileprivate var wrapped: Any? { self }
}

/// An object that stands for its ID where a condition compares objects.
package protocol IdentifiedObject {
  var objectID: ManagedObjectID { get }
}

/// A range between constants; where an end is open, its bound is nil.
package protocol ConstantRange {
  var limits: (lower: Any?, upper: Any?, includesUpper: Bool) { get }
}

extension ClosedRange: ConstantRange {
  package var limits: (lower: Any?, upper: Any?, includesUpper: Bool) { (lowerBound, upperBound, true) }
}

extension Range: ConstantRange {
  package var limits: (lower: Any?, upper: Any?, includesUpper: Bool) { (lowerBound, upperBound, false) }
}

extension PartialRangeFrom: ConstantRange {
  package var limits: (lower: Any?, upper: Any?, includesUpper: Bool) { (lowerBound, nil, true) }
}

extension PartialRangeThrough: ConstantRange {
  package var limits: (lower: Any?, upper: Any?, includesUpper: Bool) { (nil, upperBound, true) }
}

extension PartialRangeUpTo: ConstantRange {
  package var limits: (lower: Any?, upper: Any?, includesUpper: Bool) { (nil, upperBound, false) }
}
