import ObjectModel

/// Reads one operand of a condition from an object, by slots.
struct ScalarReader: Sendable {
  private indirect enum Source: Sendable {
    case constant(ConstantScalar)
    /// The object under test, or a subquery's element.
    case object(Int?)
    /// Where to begin, slots of to-one relationships to follow, and the slot at the end.
    case path(Int?, [Int], Int, StorageClass)
    case arithmetic(ScalarReader, Operand.Arithmetic, ScalarReader)
    case function(Operand.Function, ScalarReader)
    case count(CollectionTest)
  }

  private let source: Source
  private let transform: ScalarTransform

  init(_ operand: Operand, _ transform: ScalarTransform, scope: EntityScope) throws(ConditionError) {
    self.transform = transform
    switch operand {
    case .value, .object: source = .constant(ConstantScalar(operand, transform))
    case .variable(let name):
      source = scope.index(of: name).map(Source.object) ?? .constant(ConstantScalar(operand, transform))
    case .evaluatedObject: source = .object(nil)
    case .keyPath(let names): source = Self.path(nil, try PropertyPath(names, from: scope.entity))
    case .variablePath(let name, let names):
      source = Self.path(scope.index(of: name), try PropertyPath(names, from: try scope.entity(of: name)))
    case .arithmetic(let left, let arithmetic, let right):
      source = .arithmetic(
        try ScalarReader(left, .none, scope: scope), arithmetic, try ScalarReader(right, .none, scope: scope))
    case .function(let function, let inner):
      source = .function(function, try ScalarReader(inner, .none, scope: scope))
    case .count(let collection, let variable, let condition):
      source = .count(try CollectionTest(collection, variable, condition, scope: scope))
    }
  }

  private static func path(_ origin: Int?, _ path: PropertyPath) -> Source {
    .path(origin, path.relationships.map(\.slot), path.last.slot, path.last.storage)
  }

  /// The constant, or nil if the operand depends on the object.
  var constant: ConstantScalar? { if case .constant(let constant) = source { constant } else { nil } }

  /// Lends the operand's value.
  @inline(__always)
  func read<Result>(_ scope: EvaluationScope, _ body: (Scalar) throws -> Result) throws -> Result {
    switch source {
    case .constant(let constant): return try withExtendedLifetime(constant) { try body(constant.scalar) }
    case .object(let origin): return try body(.object(scope.object(origin).id))
    case .path(let origin, let relationships, let slot, let storage):
      var row = scope.object(origin).row
      for relationship in relationships {
        guard let next = row.referenceIfPresent(relationship), let destination = try scope.related.row(next) else {
          return try body(.null)
        }
        row = destination
      }
      return try withExtendedLifetime(row) { try transform.apply(Self.scalar(row, slot, storage), body) }
    case .arithmetic, .function, .count: return try compute(scope, body)
    }
  }

  /// The value in a slot; not-a-number is nil, as in SQLite.
  @inline(__always)
  private static func scalar(_ row: Row, _ slot: Int, _ storage: StorageClass) -> Scalar {
    if row.isNull(slot) { return .null }
    switch storage {
    case .integer: return .integer(row.integer(slot))
    case .real:
      let number = row.real(slot)
      return number.isNaN ? .null : .real(number)
    case .text, .bytes: return .bytes(row.unsafeBytes(slot))
    case .reference: return .object(row.reference(slot))
    // Nothing but whether there is any is asked of binary data.
    case .blob: return .integer(1)
    case .toMany: return .null
    }
  }
}

// MARK: - Computing

extension ScalarReader {
  private func compute<Result>(_ scope: EvaluationScope, _ body: (Scalar) throws -> Result) throws -> Result {
    switch source {
    case .arithmetic(let left, let arithmetic, let right):
      let result = ComputedNumber.compute(try left.number(scope), arithmetic, try right.number(scope))
      return try transform.apply(Scalar(result), body)
    case .count(let collection): return try transform.apply(.integer(Int64(try collection.count(scope))), body)
    case .function(let function, let inner): return try compute(function, inner, scope, body)
    case .constant, .object, .path: return try body(.null)
    }
  }

  private func compute<Result>(
    _ function: Operand.Function, _ inner: ScalarReader, _ scope: EvaluationScope, _ body: (Scalar) throws -> Result
  ) throws -> Result {
    switch function {
    case .absolute, .ceiling, .floor:
      return try transform.apply(Scalar(try inner.number(scope).applying(function)), body)
    case .length:
      let length: Scalar = try inner.read(scope) { scalar in
        if case .bytes(let bytes) = scalar { .integer(Int64(ComputedText.length(bytes))) } else { .null }
      }
      return try transform.apply(length, body)
    case .lowercase, .uppercase:
      let computed: String? = try inner.read(scope) { scalar in
        if case .bytes(let bytes) = scalar { ComputedText.applying(function, to: bytes) } else { nil }
      }
      guard var text = computed else { return try body(.null) }
      return try text.withUTF8 { try transform.apply(.bytes(UnsafeRawBufferPointer($0)), body) }
    }
  }

  private func number(_ scope: EvaluationScope) throws -> ComputedNumber {
    try read(scope) { scalar in
      switch scalar {
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      case .null, .bytes, .object: .null
      }
    }
  }
}

extension Scalar {
  fileprivate init(_ number: ComputedNumber) {
    self =
      switch number {
      case .null: .null
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      }
  }
}
