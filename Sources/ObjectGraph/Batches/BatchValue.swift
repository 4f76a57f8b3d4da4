public import Foundation
public import ObjectModel

/// A type whose values a row of a batch insert takes; see ``BatchRow``.
///
/// All types of generated properties are such types, and a type of your own can become one:
///
///     extension Priority: BatchValue {
///       func write(to cell: borrowing BatchCell) { cell.set(integer: Int64(rawValue)) }
///     }
public protocol BatchValue {
  /// Sets the cell to the value.
  func write(to cell: borrowing BatchCell)
}

extension Int: BatchValue {
  /// Sets the integer.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(integer: Int64(self)) }
}

extension Int16: BatchValue {
  /// Sets the integer.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(integer: Int64(self)) }
}

extension Int32: BatchValue {
  /// Sets the integer.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(integer: Int64(self)) }
}

extension Int64: BatchValue {
  /// Sets the integer.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(integer: Int64(self)) }
}

extension Double: BatchValue {
  /// Sets the number.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(real: self) }
}

extension Float: BatchValue {
  /// Sets the number.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(real: Double(self)) }
}

extension Bool: BatchValue {
  /// Sets true or false.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(.boolean(self)) }
}

extension String: BatchValue {
  /// Sets the text.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(text: self) }
}

extension Substring: BatchValue {
  /// Sets the text.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(text: self) }
}

extension Date: BatchValue {
  /// Sets the moment.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(.date(self)) }
}

extension UUID: BatchValue {
  /// Sets the UUID.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(.uuid(self)) }
}

extension URL: BatchValue {
  /// Sets the URI.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(.url(self)) }
}

extension Decimal: BatchValue {
  /// Sets the number.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(.decimal(self)) }
}

extension Data: BatchValue {
  /// Sets the bytes.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(.data(self)) }
}

extension Blob: BatchValue {
  /// Sets the binary data.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(self) }
}

extension Value: BatchValue {
  /// Sets the value.
  @inlinable
  public func write(to cell: borrowing BatchCell) { cell.set(self) }
}

extension Optional: BatchValue where Wrapped: BatchValue {
  /// Sets the value, or nil.
  @inlinable
  public func write(to cell: borrowing BatchCell) {
    if let self { self.write(to: cell) } else { cell.setNil() }
  }
}

/// The types of generated text properties: `String`, and `String?`.
public protocol BatchText: BatchValue {}

extension String: BatchText {}
extension Optional: BatchText where Wrapped == String {}
