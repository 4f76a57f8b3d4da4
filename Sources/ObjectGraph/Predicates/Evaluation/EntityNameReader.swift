import ObjectModel

/// Reads the name of the entity of an object.
struct EntityNameReader: Sendable {
  private let object: ScalarReader
  /// The subquery's element that the object is, or nil for the object under test; not for one that a path leads to.
  private let origin: Int?
  private let isPath: Bool
  /// The names by the entity's index.
  private let names: [UInt16: ConstantScalar]

  init(_ operand: Operand, scope: EntityScope) throws(ConditionError) {
    object = try ScalarReader(operand, .none, scope: scope)
    isPath = operand.path?.names.isEmpty == false
    origin = operand.path?.variable.flatMap(scope.index)
    let family = try scope.entity(ofObjects: operand)?.root.withDescendants ?? []
    names = Dictionary(
      uniqueKeysWithValues: family.map { entity in
        (UInt16(truncatingIfNeeded: entity.index), ConstantScalar(.value(.string(entity.name)), .none))
      })
  }

  /// Lends the name; nil if there is no object.
  func read<Result>(_ scope: EvaluationScope, _ body: (Scalar) throws -> Result) throws -> Result {
    let index = try isPath ? indexOfDestination(scope) : scope.object(origin).row.entityIndex
    let name = index.flatMap { names[$0] }
    return try withExtendedLifetime(name) { try body(name?.scalar ?? .null) }
  }

  private func indexOfDestination(_ scope: EvaluationScope) throws -> UInt16? {
    try object.read(scope) { if case .object(let id) = $0 { id.entityIndex } else { nil } }
  }
}
