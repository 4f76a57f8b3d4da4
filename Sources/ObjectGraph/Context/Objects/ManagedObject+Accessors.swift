public import Foundation
import ObjectModel

// Accessors for generated properties: a slot's value, with faulting and change tracking.
//
// Cost: a few nanoseconds for numbers; a text is made from, or copied into, the row's bytes.

extension ManagedObject {
  /// An integer; 0 where it is nil.
  public final subscript(integer slot: Int) -> Int64 {
    get { values.integer(slot) ?? 0 }
    set {
      willChange(slot)
      row.setInteger(newValue, slot)
    }
  }

  /// An integer, or nil.
  public final subscript(optionalInteger slot: Int) -> Int64? {
    get { values.integer(slot) }
    set {
      willChange(slot)
      if let newValue { row.setInteger(newValue, slot) } else { row.setNull(slot) }
    }
  }

  /// A number; 0 where it is nil.
  public final subscript(real slot: Int) -> Double {
    get { values.real(slot) ?? 0 }
    set {
      willChange(slot)
      row.setReal(newValue, slot)
    }
  }

  /// A number, or nil.
  public final subscript(optionalReal slot: Int) -> Double? {
    get { values.real(slot) }
    set {
      willChange(slot)
      if let newValue { row.setReal(newValue, slot) } else { row.setNull(slot) }
    }
  }

  /// A Boolean; false where it is nil.
  public final subscript(boolean slot: Int) -> Bool {
    get { self[integer: slot] != 0 }
    set { self[integer: slot] = newValue ? 1 : 0 }
  }

  /// A Boolean, or nil.
  public final subscript(optionalBoolean slot: Int) -> Bool? {
    get { self[optionalInteger: slot].map { $0 != 0 } }
    set { self[optionalInteger: slot] = newValue.map { $0 ? 1 : 0 } }
  }

  /// A text, or nil.
  public final subscript(text slot: Int) -> String? {
    get { values.text(slot) }
    set {
      willChange(slot)
      if let newValue { row.setText(newValue, slot) } else { row.setNull(slot) }
    }
  }

  /// A date, or nil; kept as seconds since 2001.
  public final subscript(date slot: Int) -> Date? {
    get { self[optionalReal: slot].map(Date.init(timeIntervalSinceReferenceDate:)) }
    set { self[optionalReal: slot] = newValue?.timeIntervalSinceReferenceDate }
  }

  /// A UUID, or nil.
  public final subscript(uuid slot: Int) -> UUID? {
    get { readable.isNull(slot) ? nil : row.uuid(slot) }
    set {
      willChange(slot)
      if let newValue { row.setUUID(newValue, slot) } else { row.setNull(slot) }
    }
  }

  /// A URI, or nil, also if the stored text is not a URI; kept as text.
  public final subscript(url slot: Int) -> URL? {
    get { self[text: slot].flatMap(URL.init(string:)) }
    set { self[text: slot] = newValue?.absoluteString }
  }

  /// A decimal number, or nil, also if the stored text is not a number; kept as text.
  public final subscript(decimal slot: Int) -> Decimal? {
    get { self[text: slot].flatMap { Decimal(string: $0) } }
    set { self[text: slot] = newValue?.description }
  }

  /// Binary data by reference; reads nothing.
  public final subscript(blob slot: Int) -> Blob? {
    get { readable.isNull(slot) ? nil : row.blob(slot) }
    set {
      willChange(slot)
      if let newValue { row.setBlob(newValue, slot) } else { row.setNull(slot) }
    }
  }

  /// Binary data; reads its file if it is in one. If its file can't be read, the context's next save throws the error.
  public final subscript(data slot: Int) -> Data? {
    get {
      guard let blob = self[blob: slot] else { return nil }
      do { return try blob.load() } catch {
        registry?.failures.note(UnreadableValue(self, entity.properties[slot], error: error))
        return nil
      }
    }
    set { self[blob: slot] = newValue.map { Blob($0) } }
  }

  /// The row, with the fault fired.
  @inline(__always)
  final var readable: Row {
    assertExecutor()
    if state.contains(.fault) { fireFault() }
    return row
  }

  /// Pointers to the row's values, with the fault fired; to be read at once.
  @inline(__always)
  private var values: RowPointers {
    assertExecutor()
    if state.contains(.fault) { fireFault() }
    return row.pointers
  }

  /// Fires the fault and notes that the object is about to change.
  @inline(__always)
  final func willChange(_ slot: Int) {
    assertExecutor()
    if state.isDisjoint(with: .fault), state.contains(.touched) { return }
    beginChange()
  }

  /// Traps in debug builds unless the caller runs on the context's executor; a release build checks only where more is
  /// done than reading or writing memory.
  @inline(__always)
  private func assertExecutor() {
    assert(isOnExecutor)
  }

  private var isOnExecutor: Bool {
    registry?.checkExecutor()
    return true
  }

  private func beginChange() {
    if state.contains(.fault) { fireFault() }
    guard let registry else {
      preconditionFailure("\(self) no longer belongs to a context and can't be changed")
    }
    registry.touch(self)
  }

  private func fireFault() {
    guard let registry else {
      // Its context is gone: fetched values are still readable, others read as nil.
      state.remove(.fault)
      return
    }
    registry.fire(self)
  }
}

// Values of Codable types in Transformable attributes, as JSON. Cost: they are encoded and decoded at each access.

extension ManagedObject {
  /// The value of a transformable; nil if it is nil or can't be decoded, and then the context's next save throws the
  /// error.
  public final subscript<Value: Codable>(transformable slot: Int, as type: Value.Type) -> Value? {
    get {
      guard let data = self[data: slot] else { return nil }
      do { return try JSONDecoder().decode(type, from: data) } catch {
        registry?.failures.note(TransformableFailure(entity.properties[slot], of: entity, type: type, error))
        return nil
      }
    }
    set {
      guard let newValue else { return self[data: slot] = nil }
      do { self[data: slot] = try Self.encoder.encode(newValue) } catch {
        registry?.failures.note(TransformableFailure(entity.properties[slot], of: entity, type: type, error))
      }
    }
  }

  /// Returns the value of a transformable by name; see ``subscript(transformable:as:)``. An unknown name traps.
  public final func transformedValue<Value: Codable>(_ type: Value.Type, forKey key: String) -> Value? {
    self[transformable: requireProperty(key).slot, as: type]
  }

  /// Sets a transformable by name.
  public final func setTransformedValue<Value: Codable>(_ value: Value?, forKey key: String) {
    self[transformable: requireProperty(key).slot, as: Value.self] = value
  }

  /// Equal values give equal bytes, so that setting one again is no change.
  private static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }
}

/// The error of a transformable that could not be read or set; the next save throws it.
struct TransformableFailure: Error, CustomStringConvertible {
  let description: String

  init(_ property: Property, of entity: Entity, type: Any.Type, _ error: any Error) {
    description = "\(entity.name).\(property.name) can't be converted from or to \(type): \(error)"
  }
}

// Values of transient attributes without a type. They live in memory: contexts pass them on by reference with an
// object's other values, so they are `Sendable`, and undo and rollback restore them; no store ever sees them.

extension ManagedObject {
  /// The value of a transient attribute without a type; nil if there is none, or one of another type.
  public final subscript<Value: Sendable>(undefined slot: Int, as type: Value.Type) -> Value? {
    get {
      // An optional is Sendable too, so it must be unwrapped before the cast.
      guard !readable.isNull(slot), let object = row.blob(slot).object else { return nil }
      return object as? Value
    }
    set {
      willChange(slot)
      if let newValue { row.setBlob(Blob(object: newValue), slot) } else { row.setNull(slot) }
    }
  }

  /// Returns the value of a transient attribute without a type, by name. An unknown name traps.
  public final func undefinedValue<Value: Sendable>(_ type: Value.Type, forKey key: String) -> Value? {
    self[undefined: requireUndefined(key), as: type]
  }

  /// Sets a transient attribute without a type, by name. An unknown name traps.
  public final func setUndefinedValue(_ value: (any Sendable)?, forKey key: String) {
    self[undefined: requireUndefined(key), as: (any Sendable).self] = value
  }

  private func requireUndefined(_ key: String) -> Int {
    let property = requireProperty(key)
    precondition(property.attribute?.type == .undefined, "\(entity.name).\(key) has a type, by which it is read")
    return property.slot
  }
}
