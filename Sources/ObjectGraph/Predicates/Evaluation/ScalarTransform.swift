/// A transform of values before they are compared.
enum ScalarTransform: Hashable, Sendable {
  case none
  case fold(Condition.TextOptions)
  case decimalKey
  /// The sort key of ``TextOrder/localizedStandard``.
  case standardKey

  init(_ type: OperandType, _ options: Condition.TextOptions) {
    self = type == .decimal ? .decimalKey : options.isEmpty ? .none : .fold(options)
  }

  init(_ type: OperandType, sortedBy order: TextOrder) {
    switch order {
    case .codePoints: self.init(type, [])
    case .caseInsensitive: self.init(type, .caseInsensitive)
    case .localizedStandard: self = .standardKey
    }
  }

  /// Calls the body with the transformed value.
  @inline(__always)
  func apply<Result, Failure: Error>(
    _ scalar: Scalar, _ body: (Scalar) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    switch self {
    case .none: try body(scalar)
    case .fold(let options): try Self.folded(scalar, options, body)
    case .decimalKey: try Self.decimalKey(scalar, body)
    case .standardKey: try Self.standardKey(scalar, body)
    }
  }

  private static func folded<Result, Failure: Error>(
    _ scalar: Scalar, _ options: Condition.TextOptions, _ body: (Scalar) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard case .bytes(let bytes) = scalar else { return try body(scalar) }
    return try lend(TextFolding.fold(bytes, options), body)
  }

  private static func standardKey<Result, Failure: Error>(
    _ scalar: Scalar, _ body: (Scalar) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard case .bytes(let bytes) = scalar else { return try body(scalar) }
    return try lend(TextFolding.standardKey(bytes), body)
  }

  private static func decimalKey<Result, Failure: Error>(
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

  private static func lend<Result, Failure: Error>(
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
