import Foundation
import ObjectModel

/// A constant of a condition, prepared for comparisons; owns its bytes.
final class ConstantScalar: Sendable {
  // nonisolated(unsafe): written only in the initializer; the bytes are freed with their owner.
  nonisolated(unsafe) let scalar: Scalar

  /// - Parameter transform: the transform of the values it is compared with.
  init(_ operand: Operand, _ transform: ScalarTransform) {
    switch operand {
    case .object(let id): scalar = .object(id)
    case .value(let value): scalar = Self.scalar(of: value, transform)
    case .evaluatedObject, .keyPath, .variable, .variablePath, .arithmetic, .function, .aggregate, .entityName:
      scalar = .null
    }
  }

  /// Copies a value whose bytes are borrowed.
  init(copying scalar: Scalar) {
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
