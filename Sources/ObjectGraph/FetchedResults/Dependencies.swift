/// The dependencies of a fetch's result.
struct Dependencies {
  /// The families whose changes can change the result.
  let roots: Set<UInt16>
  /// True if an object's own values decide whether and where it is in the result.
  let isLocal: Bool

  init(_ query: FetchQuery) throws(ConditionError) {
    let families = try RelatedFamilies(query.condition, query.sorts, entity: query.entity)
    let all = families.toOne.union(families.toMany).union([query.entity.root.index])
    roots = Set(all.map { UInt16(truncatingIfNeeded: $0) })
    isLocal = families.isEmpty
  }
}
