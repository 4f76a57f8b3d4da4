import ObjectModel

/// Reads one operand of a condition from an object, by slot.
package struct ScalarReader: Sendable {
  private indirect enum Source: Sendable {
    case constant(ConstantScalar)
    /// The object under test, or a subquery's element.
    case object(Int?)
    /// The origin, the slots of to-one relationships to follow, and the slot at the end.
    case path(Int?, [Int], Int, StorageClass)
    case arithmetic(ScalarReader, Operand.Arithmetic, ScalarReader)
    case function(Operand.Function, ScalarReader)
    case aggregate(AggregateReader)
    case entityName(EntityNameReader)
  }

  private let source: Source
  private let transform: ScalarTransform

  package init(_ operand: Operand, _ transform: ScalarTransform, scope: EntityScope) throws {
    self.transform = transform
    switch operand {
    case .value, .object: source = .constant(ConstantScalar(operand, transform))
    case .variable(let name):
      source = scope.index(of: name).map(Source.object) ?? .constant(ConstantScalar(operand, transform))
    case .evaluatedObject: source = .object(nil)
    case .keyPath(let names): source = Self.path(nil, try scope.path(names, from: nil))
    case .variablePath(let name, let names):
      source = Self.path(scope.index(of: name), try scope.path(names, from: name))
    case .arithmetic(let left, let arithmetic, let right):
      source = .arithmetic(
        try ScalarReader(left, .none, scope: scope), arithmetic, try ScalarReader(right, .none, scope: scope))
    case .function(let function, let inner):
      source = .function(function, try ScalarReader(inner, .none, scope: scope))
    case .aggregate(let aggregation, let collection, let variable, let condition):
      source = .aggregate(
        try AggregateReader(aggregation, collection, variable: variable, condition: condition, scope: scope))
    case .entityName(let object): source = .entityName(try EntityNameReader(object, scope: scope))
    }
  }

  private static func path(_ origin: Int?, _ path: PropertyPath) -> Source {
    .path(origin, path.relationships.map(\.slot), path.last.slot, path.last.storage)
  }

  /// Calls the body with the operand's value.
  @inline(__always)
  package func read<Result>(_ scope: EvaluationScope, _ body: (Scalar) throws -> Result) throws -> Result {
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
      return try withExtendedLifetime(row) { try transform.apply(Self.scalar(row, slot, as: storage), body) }
    case .arithmetic, .function: return try transform.apply(computed: try compute(scope), body)
    case .aggregate(let reader): return try reader.read(scope, transform, body: body)
    case .entityName(let reader): return try reader.read(scope) { try transform.apply($0, body) }
    }
  }

  /// Returns the value in a slot; NaN is null, as in SQLite.
  @inline(__always)
  private static func scalar(_ row: Row, _ slot: Int, as storage: StorageClass) -> Scalar {
    if row.isNull(slot) { return .null }
    switch storage {
    case .integer: return .integer(row.integer(slot))
    case .real:
      let number = row.real(slot)
      return number.isNaN ? .null : .real(number)
    case .text, .bytes: return .bytes(row.unsafeBytes(slot))
    case .reference: return .object(row.reference(slot))
    // Binary data is only tested for presence.
    case .blob: return .integer(1)
    case .toMany: return .null
    }
  }
}

// MARK: - Computing

extension ScalarReader {
  private func compute(_ scope: EvaluationScope) throws -> ComputedValue {
    switch source {
    case .arithmetic(let left, let arithmetic, let right):
      return ComputedValue.compute(try left.number(scope), arithmetic, right: try right.number(scope))
    case .function(let function, let inner):
      return try inner.read(scope) { ComputedValue($0, for: function).applying(function) }
    case .constant, .object, .path, .aggregate, .entityName: return .null
    }
  }

  /// Returns the operand as a number; texts are decimal numbers.
  func number(_ scope: EvaluationScope) throws -> ComputedValue {
    try read(scope) { ComputedValue($0, for: .absolute) }
  }
}

extension ComputedValue {
  fileprivate init(_ scalar: Scalar, for function: Operand.Function) {
    switch scalar {
    case .null, .object: self = .null
    case .integer(let number): self = .integer(number)
    case .real(let number): self.init(number)
    case .bytes(let bytes): self.init(bytes, for: function)
    }
  }
}

extension ScalarTransform {
  /// Calls the body with the transform of a computed value.
  func apply<Result>(computed value: ComputedValue, _ body: (Scalar) throws -> Result) throws -> Result {
    switch value {
    case .null: return try body(.null)
    case .integer(let number): return try apply(.integer(number), body)
    case .real(let number): return try apply(.real(number), body)
    case .decimal(let number): return try apply(text: "\(number)", body)
    case .text(let text): return try apply(text: text, body)
    }
  }

  private func apply<Result>(text: String, _ body: (Scalar) throws -> Result) throws -> Result {
    var text = text
    return try text.withUTF8 { try apply(.bytes(UnsafeRawBufferPointer($0)), body) }
  }
}

/// Computes an aggregate over the elements of a to-many relationship that meet a condition.
struct AggregateReader: Sendable {
  private let aggregation: Operand.Aggregation
  private let collection: CollectionTest
  /// The operand to read of each element; nil to count them.
  private let operand: ScalarReader?
  private let isDecimal: Bool

  init(
    _ aggregation: Operand.Aggregation, _ path: Operand.Collection, variable: String, condition: Condition,
    scope: EntityScope
  ) throws {
    self.aggregation = aggregation
    collection = try CollectionTest(path, variable: variable, condition: condition, scope: scope)
    guard let operand = aggregation.operand else {
      (self.operand, isDecimal) = (nil, false)
      return
    }
    let element = scope.binding(variable, to: try scope.destination(of: path))
    self.operand = try ScalarReader(operand, .none, scope: element)
    isDecimal = try element.type(of: operand) == .decimal
  }

  /// Calls the body with the result.
  func read<Result>(
    _ scope: EvaluationScope, _ transform: ScalarTransform, body: (Scalar) throws -> Result
  ) throws -> Result {
    switch aggregation {
    case .count:
      var count: Int64 = 0
      try collection.forEach(scope) { _ in count += 1 }
      return try transform.apply(.integer(count), body)
    case .sum: return try transform.apply(computed: try numbers(scope).sum, body)
    case .average: return try transform.apply(computed: try numbers(scope).average, body)
    case .min where isDecimal: return try transform.apply(computed: try numbers(scope).smallestDecimal, body)
    case .max where isDecimal: return try transform.apply(computed: try numbers(scope).largestDecimal, body)
    case .min: return try extreme(scope, transform, isBetter: { $0 < 0 }, body: body)
    case .max: return try extreme(scope, transform, isBetter: { $0 > 0 }, body: body)
    }
  }

  private func numbers(_ scope: EvaluationScope) throws -> NumberGroup {
    var group = NumberGroup()
    try collection.forEach(scope) { element in if let operand { group.add(try operand.number(element)) } }
    return group
  }

  private func extreme<Result>(
    _ scope: EvaluationScope, _ transform: ScalarTransform, isBetter: (Int) -> Bool,
    body: (Scalar) throws -> Result
  ) throws -> Result {
    var best: ConstantScalar?
    try collection.forEach(scope) { element in
      try operand?.read(element) { scalar in
        if scalar.isNull { return }
        if let known = best?.scalar, !isBetter(scalar.order(known)) { return }
        best = ConstantScalar(copying: scalar)
      }
    }
    return try withExtendedLifetime(best) { try transform.apply(best?.scalar ?? .null, body) }
  }
}

/// Reads an object's entity name.
struct EntityNameReader: Sendable {
  private let object: ScalarReader
  /// The index of the subquery's element to read, or nil for the object under test; unused if there is a path.
  private let origin: Int?
  private let isPath: Bool
  /// The names by the entity's index.
  private let names: [UInt16: ConstantScalar]

  init(_ operand: Operand, scope: EntityScope) throws {
    object = try ScalarReader(operand, .none, scope: scope)
    isPath = operand.path?.names.isEmpty == false
    origin = operand.path?.variable.flatMap(scope.index)
    let family = try scope.entity(ofObjects: operand)?.root.withDescendants ?? []
    names = Dictionary(
      uniqueKeysWithValues: family.map { entity in
        (UInt16(truncatingIfNeeded: entity.index), ConstantScalar(.value(.string(entity.name)), .none))
      })
  }

  /// Calls the body with the name; null if there is no object.
  func read<Result>(_ scope: EvaluationScope, _ body: (Scalar) throws -> Result) throws -> Result {
    let index = try isPath ? indexOfDestination(scope) : scope.object(origin).row.entityIndex
    let name = index.flatMap { names[$0] }
    return try withExtendedLifetime(name) { try body(name?.scalar ?? .null) }
  }

  private func indexOfDestination(_ scope: EvaluationScope) throws -> UInt16? {
    try object.read(scope) { if case .object(let id) = $0 { id.entityIndex } else { nil } }
  }
}
