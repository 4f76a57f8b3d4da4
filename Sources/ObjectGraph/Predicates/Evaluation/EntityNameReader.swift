import ObjectModel

/// Reads an object's entity name.
struct EntityNameReader: Sendable {
  private let object: ScalarReader
  /// The index of the subquery's element to read, or nil for the object under test; unused if there is a path.
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
