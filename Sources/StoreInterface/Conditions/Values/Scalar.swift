import Foundation
import ObjectModel

/// A value prepared for comparisons; bytes are borrowed.
package enum Scalar {
  case null
  case integer(Int64)
  case real(Double)
  case bytes(UnsafeRawBufferPointer)
  case object(ManagedObjectID)

  @inlinable package var isNull: Bool { if case .null = self { true } else { false } }

  /// Returns a negative number, 0 or a positive number if this comes before, with or after the other; null comes first.
  ///
  /// Bytes are compared as unsigned bytes, integers with reals exactly; other kinds are never mixed.
  @inlinable package func order(_ other: Scalar) -> Int {
    switch (self, other) {
    case (.null, .null): 0
    case (.null, _): -1
    case (_, .null): 1
    case (.integer(let left), .integer(let right)): left < right ? -1 : left > right ? 1 : 0
    case (.real(let left), .real(let right)): left < right ? -1 : left > right ? 1 : 0
    case (.integer(let left), .real(let right)): Self.order(left, right)
    case (.real(let left), .integer(let right)): -Self.order(right, left)
    case (.bytes(let left), .bytes(let right)): Self.order(left, right)
    case (.object(let left), .object(let right)): Self.order(left, right)
    default: self.rank - other.rank
    }
  }

  @usableFromInline var rank: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .bytes: 2
    case .object: 3
    }
  }

  @usableFromInline static func order(_ left: Int64, _ right: Double) -> Int {
    if right >= 0x1p63 { return -1 }
    if right < -0x1p63 { return 1 }
    let whole = Int64(right)
    if left != whole { return left < whole ? -1 : 1 }
    let fraction = right - Double(whole)
    return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
  }

  @usableFromInline static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let count = min(left.count, right.count)
    if count > 0, let leftBase = left.baseAddress, let rightBase = right.baseAddress {
      let result = memcmp(leftBase, rightBase, count)
      if result != 0 { return Int(result) }
    }
    return left.count - right.count
  }

  @usableFromInline static func order(_ left: ManagedObjectID, _ right: ManagedObjectID) -> Int {
    if left == right { return 0 }
    return (left.coordinatorOrdinal, left.rootIndex, left.key) < (right.coordinatorOrdinal, right.rootIndex, right.key)
      ? -1 : 1
  }
}

/// A transform of values before they are compared.
package enum ScalarTransform: Hashable, Sendable {
  case none
  case fold(Condition.TextOptions)
  case decimalKey
  /// The sort key of ``TextOrder/localizedStandard``.
  case standardKey

  package init(_ type: OperandType, _ options: Condition.TextOptions) {
    self = type == .decimal ? .decimalKey : options.isEmpty ? .none : .fold(options)
  }

  package init(_ type: OperandType, sortedBy order: TextOrder) {
    switch order {
    case .codePoints: self.init(type, [])
    case .caseInsensitive: self.init(type, .caseInsensitive)
    case .localizedStandard: self = .standardKey
    }
  }

  /// Calls the body with the transformed value.
  @inlinable
  @inline(__always)
  package func apply<Result, Failure: Error>(
    _ scalar: Scalar, _ body: (Scalar) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    switch self {
    case .none: try body(scalar)
    case .fold(let options): try Self.folded(scalar, options, body: body)
    case .decimalKey: try Self.decimalKey(scalar, body)
    case .standardKey: try Self.standardKey(scalar, body)
    }
  }

  @inlinable static func folded<Result, Failure: Error>(
    _ scalar: Scalar, _ options: Condition.TextOptions, body: (Scalar) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard case .bytes(let bytes) = scalar else { return try body(scalar) }
    return try lend(TextFolding.fold(bytes, options), body)
  }

  @inlinable static func standardKey<Result, Failure: Error>(
    _ scalar: Scalar, _ body: (Scalar) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard case .bytes(let bytes) = scalar else { return try body(scalar) }
    return try lend(TextFolding.standardKey(bytes), body)
  }

  @inlinable static func decimalKey<Result, Failure: Error>(
    _ scalar: Scalar, _ body: (Scalar) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let key: DecimalKey? =
      switch scalar {
      case .bytes(let bytes): DecimalKey(bytes)
      case .integer(let number): DecimalKey("\(number)")
      default: nil
      }
    guard let key else { return try body(.null) }
    return try lend(key.bytes, body)
  }

  @inlinable static func lend<Result, Failure: Error>(
    _ bytes: [UInt8], _ body: (Scalar) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var result: Swift.Result<Result, Failure>?
    bytes.withUnsafeBytes { buffer in
      do throws(Failure) {
        result = .success(try body(.bytes(buffer)))
      } catch {
        result = .failure(error)
      }
    }
    guard let result else { preconditionFailure("an array did not lend its bytes") }
    return try result.get()
  }
}

/// A constant of a condition, prepared for comparisons; owns its bytes.
package final class ConstantScalar: Sendable {
  // nonisolated(unsafe): written only in the initializer; the bytes are freed with their owner.
  nonisolated(unsafe) package let scalar: Scalar

  /// - Parameter transform: the transform of the values it is compared with.
  package init(_ operand: Operand, _ transform: ScalarTransform) {
    switch operand {
    case .object(let id): scalar = .object(id)
    case .value(let value): scalar = Self.scalar(of: value, transform)
    case .evaluatedObject, .keyPath, .variable, .variablePath, .arithmetic, .function, .aggregate, .entityName:
      scalar = .null
    }
  }

  /// Copies a value whose bytes are borrowed.
  package init(copying scalar: Scalar) {
    if case .bytes(let bytes) = scalar { self.scalar = .bytes(Self.copy(bytes)) } else { self.scalar = scalar }
  }

  deinit {
    if case .bytes(let bytes) = scalar { bytes.deallocate() }
  }

  private static func scalar(of value: Value, _ transform: ScalarTransform) -> Scalar {
    switch value {
    case .null, .data: .null
    case .integer(let number): transform == .decimalKey ? bytes(of: "\(number)", transform) : .integer(number)
    case .boolean(let truth): .integer(truth ? 1 : 0)
    case .double(let number): number.isNaN ? .null : .real(number)
    case .date(let date): .real(date.timeIntervalSinceReferenceDate)
    case .string(let text): bytes(of: text, transform)
    case .url(let url): bytes(of: url.absoluteString, transform)
    case .decimal(let number): bytes(of: "\(number)", transform)
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { .bytes(copy($0)) }
    }
  }

  private static func bytes(of text: String, _ transform: ScalarTransform) -> Scalar {
    var text = text
    return text.withUTF8 { utf8 in
      transform.apply(.bytes(UnsafeRawBufferPointer(utf8))) { scalar in
        guard case .bytes(let bytes) = scalar else { return .null }
        return .bytes(copy(bytes))
      }
    }
  }

  private static func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 8)
    copy.copyMemory(from: bytes)
    return UnsafeRawBufferPointer(start: copy.baseAddress, count: bytes.count)
  }
}

extension Scalar {
  /// True if a comparison holds between this value and another.
  ///
  /// - Parameter pattern: the regular expression of ``Condition/Comparison/matches``.
  package func meets(
    _ comparison: Condition.Comparison, _ right: Scalar, pattern: WholeTextPattern?
  ) -> Bool {
    switch comparison {
    case .equal: return order(right) == 0
    case .notEqual: return order(right) != 0
    default: break
    }
    if isNull || right.isNull { return false }
    switch comparison {
    case .less: return order(right) < 0
    case .lessOrEqual: return order(right) <= 0
    case .greater: return order(right) > 0
    case .greaterOrEqual: return order(right) >= 0
    default: break
    }
    guard case .bytes(let text) = self, case .bytes(let part) = right else { return false }
    return switch comparison {
    case .beginsWith: TextSearch.hasPrefix(text, part)
    case .endsWith: TextSearch.hasSuffix(text, part)
    case .contains: TextSearch.contains(text, part)
    case .like: TextSearch.isLike(text, part)
    default: pattern?.matches(text) ?? false
    }
  }
}

extension Condition.Comparison {
  /// True if the comparison holds between two constants of a type.
  func isTrue(
    ofConstants left: Operand, _ right: Operand, type: OperandType, options: Condition.TextOptions
  ) -> Bool {
    let transform: ScalarTransform = self == .matches ? .none : ScalarTransform(type, options)
    var pattern: WholeTextPattern?
    if self == .matches, case .value(.string(let text)) = right { pattern = .cached(text, options) }
    let (left, right) = (ConstantScalar(left, transform), ConstantScalar(right, transform))
    return withExtendedLifetime((left, right)) { left.scalar.meets(self, right.scalar, pattern: pattern) }
  }
}
