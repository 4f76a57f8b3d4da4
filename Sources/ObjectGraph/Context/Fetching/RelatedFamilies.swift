import ObjectModel

/// The families of entities that a condition and a sort read beyond the one under test.
struct RelatedFamilies {
  /// Those that to-one relationships lead to.
  private(set) var toOne: Set<Int> = []
  /// Those that to-many relationships lead to.
  private(set) var toMany: Set<Int> = []
  private(set) var joinTables: Set<Int> = []

  /// - Parameter condition: a resolved condition.
  init(_ condition: Condition?, _ sorts: [ResolvedSort], entity: Entity) throws {
    if let condition { try add(condition, EntityScope(entity)) }
    for sort in sorts { add(try PropertyPath(sort.keyPath, from: entity).relationships) }
  }

  var isEmpty: Bool { toOne.isEmpty && toMany.isEmpty && joinTables.isEmpty }

  /// The families that decide about the destinations of a to-many relationship.
  init(destinationsOf property: Property) {
    if let destination = property.destination { toMany.insert(destination.root.index) }
    if let table = property.joinTable { joinTables.insert(table.index) }
  }

  private mutating func add(_ condition: Condition, _ scope: EntityScope) throws {
    switch condition {
    case .constant: break
    case .compare(let left, _, let right, _): for operand in [left, right] { try add(operand, scope) }
    case .between(let middle, let lower, let upper): for operand in [middle, lower, upper] { try add(operand, scope) }
    case .isIn(let operand, let list, _):
      try add(operand, scope)
      for element in list { try add(element, scope) }
    case .isNull(let operand): try add(operand, scope)
    case .quantified(_, let inner), .not(let inner): try add(inner, scope)
    case .and(let parts), .or(let parts): for part in parts { try add(part, scope) }
    case .exists(let collection, let variable, let inner): try add(collection, variable, condition: inner, scope: scope)
    }
  }

  private mutating func add(_ operand: Operand, _ scope: EntityScope) throws {
    switch operand {
    case .value, .object, .evaluatedObject, .variable: break
    case .keyPath(let names): add(try scope.path(names, from: nil).relationships)
    case .variablePath(let name, let names): add(try scope.path(names, from: name).relationships)
    case .arithmetic(let left, _, let right): for operand in [left, right] { try add(operand, scope) }
    case .function(_, let inner): try add(inner, scope)
    case .aggregate(let aggregation, let collection, let variable, let inner):
      try add(collection, variable, condition: inner, scope: scope)
      guard let operand = aggregation.operand else { return }
      try add(operand, scope.binding(variable, to: try scope.destination(of: collection)))
    case .entityName(let object): try add(object, scope)
    }
  }

  private mutating func add(_ relationships: some Sequence<Property>) {
    for relationship in relationships { if let index = relationship.destination?.root.index { toOne.insert(index) } }
  }

  private mutating func add(
    _ collection: Operand.Collection, _ variable: String, condition: Condition, scope: EntityScope
  ) throws {
    let path = try scope.path(of: collection)
    add(path.toOne)
    if let table = path.toMany.joinTable { joinTables.insert(table.index) }
    let destination = try scope.destination(of: collection)
    toMany.insert(destination.root.index)
    try add(condition, scope.binding(variable, to: destination))
  }
}
