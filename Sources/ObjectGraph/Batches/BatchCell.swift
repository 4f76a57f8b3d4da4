public import ObjectModel

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
