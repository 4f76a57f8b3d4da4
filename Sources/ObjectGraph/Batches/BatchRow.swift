public import ObjectModel

/// A row of a batch insert, lent to be filled; see ``BatchInsertRequest``.
///
/// Values go straight to where the store reads them. Setting the properties in the same order in each row is fastest.
/// What is not set has its default. What can't be set, such as an unknown name or a value of another type, makes the
/// request fail when the row is complete.
public struct BatchRow<Object: ManagedObject>: ~Copyable {
  // Valid during the call that the row is lent for; nobody can keep or make a row.
  private let packer: UnsafeMutablePointer<BatchPacker>

  init(_ packer: UnsafeMutablePointer<BatchPacker>) { self.packer = packer }

  /// The number of the row in the request, from 0.
  public var number: Int { packer.pointee.number }

  // MARK: Attributes

  /// Sets an attribute.
  @inlinable
  public mutating func set<Value: BatchValue>(_ attribute: KeyPath<Object, Value>, to value: Value) {
    value.write(to: cell(attribute))
  }

  /// Sets a text.
  @inlinable
  public mutating func set<Text: BatchText>(_ attribute: KeyPath<Object, Text>, to text: Substring) {
    cell(attribute).set(text: text)
  }

  /// Sets a text from bytes that are known to be UTF-8, without making a string.
  @inlinable
  public mutating func set<Text: BatchText>(_ attribute: KeyPath<Object, Text>, to text: UTF8Span) {
    cell(attribute).set(text: text)
  }

  /// Sets an attribute by name.
  @inlinable
  public mutating func set<Value: BatchValue>(_ attribute: String, to value: Value) {
    value.write(to: cell(attribute))
  }

  /// Sets a text by name from bytes that are known to be UTF-8, without making a string.
  @inlinable
  public mutating func set(_ attribute: String, to text: UTF8Span) { cell(attribute).set(text: text) }

  // MARK: Relationships

  /// Sets a to-one relationship to a stored object. Cost: that of an object instead of a packed row.
  public mutating func set(_ relationship: PartialKeyPath<Object>, toObject id: ManagedObjectID?) {
    packer.pointee.set(id, slot(relationship))
  }

  /// Adds stored objects to a to-many relationship. Cost: that of an object instead of a packed row.
  public mutating func set(_ relationship: PartialKeyPath<Object>, toObjects ids: [ManagedObjectID]) {
    packer.pointee.set(ids, slot(relationship))
  }

  /// Sets a to-one relationship by name to a stored object. Cost: that of an object instead of a packed row.
  public mutating func set(_ relationship: String, toObject id: ManagedObjectID?) {
    packer.pointee.set(id, packer.pointee.slot(relationship))
  }

  /// Adds stored objects to a to-many relationship by name. Cost: that of an object instead of a packed row.
  public mutating func set(_ relationship: String, toObjects ids: [ManagedObjectID]) {
    packer.pointee.set(ids, packer.pointee.slot(relationship))
  }

  // MARK: Places

  @usableFromInline
  mutating func cell(_ keyPath: PartialKeyPath<Object>) -> BatchCell { BatchCell(packer, slot(keyPath)) }

  @usableFromInline
  mutating func cell(_ name: String) -> BatchCell { BatchCell(packer, packer.pointee.slot(name)) }

  private func slot(_ keyPath: PartialKeyPath<Object>) -> Int {
    packer.pointee.slot(keyPath, names: Object.propertyNamesByKeyPath)
  }
}

/// The place of one value in a row of a batch insert; see ``BatchValue``.
///
/// A value that is not of the property's type makes the request fail when the row is complete.
public struct BatchCell: ~Copyable {
  // The packer outlives each cell, which nobody can keep.
  private let packer: UnsafeMutablePointer<BatchPacker>
  private let slot: Int

  init(_ packer: UnsafeMutablePointer<BatchPacker>, _ slot: Int) {
    self.packer = packer
    self.slot = slot
  }

  /// Sets an integer, which may also be meant for an attribute of floating-point or decimal numbers.
  public func set(integer: Int64) { packer.pointee.set(integer: integer, slot) }

  /// Sets a floating-point number.
  public func set(real: Double) { packer.pointee.set(real: real, slot) }

  /// Sets a text, whose bytes are copied once, to where the store reads them.
  public func set(text: UTF8Span) {
    text.span.withUnsafeBytes { packer.pointee.set(text: $0, slot) }
  }

  /// Sets a text; a native string's bytes are copied once, to where the store reads them.
  public func set(text: String) {
    var text = text
    text.withUTF8 { packer.pointee.set(text: UnsafeRawBufferPointer($0), slot) }
  }

  /// Sets a text; the bytes are copied once, to where the store reads them.
  public func set(text: Substring) {
    var text = text
    text.withUTF8 { packer.pointee.set(text: UnsafeRawBufferPointer($0), slot) }
  }

  /// Sets a value of any type that attributes have.
  public func set(_ value: Value) { packer.pointee.set(value, slot) }

  /// Sets binary data by reference.
  public func set(_ blob: Blob) { packer.pointee.set(blob, slot) }

  /// Sets nil, in place of a default too.
  public func setNil() { packer.pointee.setNull(slot) }
}
