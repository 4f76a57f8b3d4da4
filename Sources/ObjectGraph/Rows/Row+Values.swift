import Foundation
package import ObjectModel

extension Row {
  /// A row with an entity's defaults.
  init(defaultsOf entity: Entity, layout: RowLayout) {
    self.init(layout)
    for property in entity.properties {
      guard let attribute = property.attribute, !attribute.defaultValue.isNull else { continue }
      set(attribute.defaultValue.converted(to: attribute.type) ?? .null, property.slot)
    }
  }

  /// Sets an attribute's value, of its own type.
  mutating func set(_ value: Value, of type: AttributeType?, _ slot: Int) {
    guard type == .undefined else { return set(value, slot) }
    if let object = value.unwrapped { setBlob(Blob(object: object), slot) } else { setNull(slot) }
  }

  /// Sets a value that fits the slot's storage class.
  package mutating func set(_ value: Value, _ slot: Int) {
    switch value {
    case .null: setNull(slot)
    case .integer(let value): setInteger(value, slot)
    case .double(let value): setReal(value, slot)
    case .boolean(let value): setInteger(value ? 1 : 0, slot)
    case .string(let value): setText(value, slot)
    case .decimal(let value): setText(value.description, slot)
    case .date(let value): setReal(value.timeIntervalSinceReferenceDate, slot)
    case .data(let value): setBlob(Blob(value), slot)
    case .uuid(let value): setUUID(value, slot)
    case .url(let value): setText(value.absoluteString, slot)
    }
  }

  /// The value in an attribute's slot.
  ///
  /// - Throws: what reading a file throws, if the value is binary data in a file.
  package func value(of attribute: AttributeDescription, _ slot: Int) throws -> Value {
    if isNull(slot) { return .null }
    switch attribute.type {
    case .integer16, .integer32, .integer64: return .integer(integer(slot))
    case .boolean: return .boolean(integer(slot) != 0)
    case .double, .float: return .double(real(slot))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: real(slot)))
    case .string: return .string(text(slot))
    case .decimal: return Decimal(string: text(slot)).map(Value.decimal) ?? .null
    case .uri: return URL(string: text(slot)).map(Value.url) ?? .null
    case .uuid: return .uuid(uuid(slot))
    case .binary, .transformable: return .data(try blob(slot).load())
    case .undefined:
      let object = blob(slot).object
      return Value(object) ?? object.map { .string(String(describing: $0)) } ?? .null
    }
  }
}
