import ObjectModel

/// What the result of a fetch depends on.
struct Dependencies {
  /// The families of the objects whose changes can change the result.
  private(set) var roots: Set<UInt16>
  /// Whether an object's own values decide whether and where it is in the result.
  var isLocal: Bool { roots.count == 1 && !goesThroughRelationships }
  private var goesThroughRelationships = false

  init(_ query: FetchQuery, _ sectionPath: PropertyPath?) {
    roots = [UInt16(truncatingIfNeeded: query.entity.root.index)]
    for sort in query.sorts { add(sort.keyPath, query.entity) }
    if let sectionPath { add(sectionPath.properties.map(\.name), query.entity) }
    if let condition = query.condition, let families = try? RelatedFamilies(condition, entity: query.entity) {
      let related = families.toOne.union(families.toMany)
      goesThroughRelationships = goesThroughRelationships || !related.isEmpty || !families.joinTables.isEmpty
      for root in related { roots.insert(UInt16(truncatingIfNeeded: root)) }
    }
  }

  private mutating func add(_ names: [String], _ entity: Entity) {
    var entity = entity
    for name in names.dropLast() {
      guard let destination = entity.property(named: name)?.destination else { return }
      entity = destination
      goesThroughRelationships = true
      roots.insert(UInt16(truncatingIfNeeded: entity.root.index))
    }
  }
}
