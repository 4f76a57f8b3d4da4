import Foundation
package import ObjectModel

extension Row {
  /// A row with an entity's defaults.
  package init(defaultsOf entity: Entity, layout: RowLayout) {
    self.init(layout)
    for property in entity.properties {
      guard let attribute = property.attribute, !attribute.defaultValue.isNull else { continue }
      set(attribute.defaultValue.converted(to: attribute.type) ?? .null, property.slot)
    }
  }

  /// Sets an attribute's value, of its own type.
  package mutating func set(_ value: Value, of type: AttributeType?, _ slot: Int) {
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

extension Row {
  /// True if both rows have the same value in the slot.
  package func hasSameValue(as other: Row, _ slot: Int, _ storage: StorageClass) -> Bool {
    let mine = pointers
    let theirs = other.pointers
    mine.check(slot)
    theirs.check(slot)
    let isNull = mine.isNull(slot)
    if isNull || theirs.isNull(slot) { return isNull == theirs.isNull(slot) }
    switch storage {
    case .integer, .real: return mine.slots[slot] == theirs.slots[slot]
    case .text, .bytes, .reference:
      return unsafeBytes(slot).elementsEqual(other.unsafeBytes(slot))
    case .blob: return blob(slot).isSame(as: other.blob(slot))
    case .toMany: return true
    }
  }

  /// The slots whose values differ.
  package func changedSlots(from other: Row, layout: RowLayout) -> [Int] {
    if isIdentical(to: other) { return [] }
    return (0..<layout.slotCount).filter { !hasSameValue(as: other, $0, layout.storage[$0]) }
  }

  /// A copy of this row with the values that differ between two others.
  package func applying(changesFrom origin: Row, to goal: Row, layout: RowLayout) -> Row {
    var result = self
    for slot in goal.changedSlots(from: origin, layout: layout) {
      result.copyValue(of: goal, slot, layout.storage[slot])
    }
    return result
  }

  /// Takes over the value in another row's slot.
  package mutating func copyValue(of other: Row, _ slot: Int, _ storage: StorageClass) {
    if other.isNull(slot) { return setNull(slot) }
    switch storage {
    case .integer: setInteger(other.integer(slot), slot)
    case .real: setReal(other.real(slot), slot)
    case .text, .bytes, .reference: setBytes(other.unsafeBytes(slot), slot)
    case .blob: setBlob(other.blob(slot), slot)
    case .toMany: break
    }
  }
}

extension Blob {
  /// True if two values are known to be the same: equal ones, or one instance.
  private static func isSame(_ mine: any Sendable, _ theirs: any Sendable) -> Bool {
    if let mine = mine as? AnyHashable, let theirs = theirs as? AnyHashable { return mine == theirs }
    guard type(of: mine) is AnyClass, type(of: theirs) is AnyClass else { return false }
    return (mine as AnyObject) === (theirs as AnyObject)
  }

  /// True if two blobs hold the same bytes for sure; compares bytes in memory, never reads files.
  package func isSame(as other: Blob) -> Bool {
    switch (content, other.content) {
    case (.data(let mine), .data(let theirs)): mine == theirs
    case (.staged(let mine), .staged(let theirs)): mine === theirs
    case (.stored(let mine, _), .stored(let theirs, _)): mine == theirs
    case (.staged(let file), .stored(let path, _)), (.stored(let path, _), .staged(let file)):
      file.currentPath == path
    case (.remote(let mine), .remote(let theirs)): mine.name == theirs.name
    case (.object(let mine), .object(let theirs)): Self.isSame(mine, theirs)
    default: false
    }
  }
}
