import ObjectModel

/// Reads one operand of a condition from an object, by slots.
struct ScalarReader: Sendable {
  private enum Source: Sendable {
    case constant(ConstantScalar)
    case evaluatedObject
    /// Slots of to-one relationships to follow, and the slot at the end.
    case path([Int], Int, StorageClass)
  }

  private let source: Source
  private let transform: ScalarTransform

  init(_ operand: Operand, _ transform: ScalarTransform, entity: Entity) throws(ConditionError) {
    self.transform = transform
    switch operand {
    case .value, .object, .variable: source = .constant(ConstantScalar(operand, transform))
    case .evaluatedObject: source = .evaluatedObject
    case .keyPath(let names):
      let path = try PropertyPath(names, from: entity)
      source = .path(path.relationships.map(\.slot), path.last.slot, path.last.storage)
    }
  }

  /// The constant, or nil if the operand depends on the object.
  var constant: ConstantScalar? { if case .constant(let constant) = source { constant } else { nil } }

  /// Lends the operand's value.
  @inline(__always)
  func read<Result>(
    _ id: ManagedObjectID, _ row: Row, _ related: (ManagedObjectID) throws -> Row?, _ body: (Scalar) throws -> Result
  ) throws -> Result {
    switch source {
    case .constant(let constant): return try withExtendedLifetime(constant) { try body(constant.scalar) }
    case .evaluatedObject: return try body(.object(id))
    case .path(let relationships, let slot, let storage):
      var row = row
      for relationship in relationships {
        guard let next = row.referenceIfPresent(relationship), let destination = try related(next) else {
          return try body(.null)
        }
        row = destination
      }
      return try withExtendedLifetime(row) { try transform.apply(Self.scalar(row, slot, storage), body) }
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
