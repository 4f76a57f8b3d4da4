import Foundation
import ObjectModel

/// Reads entries of a result in a context: all by a fetch, or those of some objects.
struct ResultsReader {
  private let query: FetchQuery
  private let sectionPath: PropertyPath?
  /// The entities whose changes can change the result, by the index of their root.
  private let roots: Set<UInt16>
  /// True if each object's own values alone decide about its place in the result.
  private let isLocal: Bool

  init<Object>(
    _ request: FetchRequest<Object>, sectionNameKeyPath: String?, _ model: ManagedObjectModel
  ) throws {
    var request = request
    request.fetchBatchSize = 0
    request.relationshipKeyPathsForPrefetching = []
    query = try FetchQuery(request, model)
    guard let first = query.sorts.first else {
      throw FetchedResultsError(
        code: .unsorted, message: "a results controller for \(query.entity.name) needs a sort descriptor")
    }
    if let sectionNameKeyPath {
      sectionPath = try PropertyPath(FetchExpression.names(sectionNameKeyPath), from: query.entity)
      // A text order can rank different texts equal; the second sort must tell them apart.
      let second = query.sorts.dropFirst().first
      let isDecided =
        first.textOrder == .codePoints || second?.keyPath == first.keyPath && second?.textOrder == .codePoints
      guard first.keyPath.joined(separator: ".") == sectionNameKeyPath, isDecided else {
        throw FetchedResultsError(
          code: .sectionsUnsorted,
          message: "the first sort descriptor sorts by \"\(first.keyPath.joined(separator: "."))\""
            + "\(first.textOrder == .codePoints ? "" : " in an order of texts"), but objects of a section must follow each "
            + "other: sort by \"\(sectionNameKeyPath)\" first"
            + "\(isDecided ? "" : ", and by the same without that order second")")
      }
    } else {
      sectionPath = nil
    }
    let dependencies = try Dependencies(query)
    roots = dependencies.roots
    isLocal = dependencies.isLocal && query.limit == nil && query.offset == 0
  }

  /// True if a change of the object can change the result.
  func concerns(_ id: ManagedObjectID) -> Bool { roots.contains(id.rootIndex) }

  /// Fetches the result.
  func fetch(_ registry: ObjectRegistry) throws -> [ResultsEntry] {
    var entries: [ResultsEntry] = []
    try FetchExecution(registry, query).forEachRow { id, row, _ in
      entries.append(ResultsEntry(id: id, row: row, section: ""))
    }
    if sectionPath == nil { return entries }
    return try entries.map { try entry($0.id, $0.row, in: registry) }
  }

  /// Returns the result after some objects have changed; reads no other objects if possible.
  func result(
    after changed: Set<ManagedObjectID>, deleted: Set<ManagedObjectID>, of old: [ResultsEntry],
    _ registry: ObjectRegistry
  ) throws -> [ResultsEntry] {
    guard isLocal else { return try fetch(registry) }
    let evaluator = try query.condition.map {
      try ConditionEvaluator($0, entity: query.entity, related: { try registry.visibleRow(for: $0) })
    }
    let comparator = try RowComparator(
      query.sorts, entity: query.entity, related: { try registry.visibleRow(for: $0) })
    let family = Set((query.includesSubentities ? query.entity.withDescendants : [query.entity]).map(\.index))
    var matching: [ResultsEntry] = []
    for id in changed {
      // An object registered or pending here or above still has edits that keep it. Others are gone, without a look at
      // the store.
      let isGone =
        deleted.contains(id) && registry.registeredObject(for: id) == nil
        && registry.pending.currentChange(of: id) == nil && registry.ancestorsChange(of: id) == nil
        && !registry.coordinator.sharedRows.hasReturned(id)
      if isGone { continue }
      guard let row = try registry.visibleRow(for: id), family.contains(Int(row.entityIndex)) else { continue }
      if try evaluator?.matches(id: id, row: row) ?? true { matching.append(try entry(id, row, in: registry)) }
    }
    let isBefore: (ResultsEntry, ResultsEntry) throws -> Bool = {
      try comparator.areInIncreasingOrder(($0.id, $0.row), ($1.id, $1.row))
    }
    let rest = old.filter { !changed.contains($0.id) }
    return try rest.merged(with: try matching.sorted(by: isBefore), isBefore)
  }

  /// True if an object has other values than before.
  func isUpdated(_ old: ResultsEntry, _ new: ResultsEntry, layouts: [RowLayout]) -> Bool {
    if old.row.entityIndex != new.row.entityIndex { return true }
    return !new.row.changedSlots(from: old.row, layout: layouts[Int(new.row.entityIndex)]).isEmpty
  }

  private func entry(_ id: ManagedObjectID, _ row: Row, in registry: ObjectRegistry) throws -> ResultsEntry {
    ResultsEntry(id: id, row: row, section: try sectionName(row, registry))
  }

  private func sectionName(_ row: Row, _ registry: ObjectRegistry) throws -> String {
    guard let sectionPath else { return "" }
    var row = row
    for relationship in sectionPath.relationships {
      guard let id = row.referenceIfPresent(relationship.slot), let next = try registry.visibleRow(for: id) else {
        return ""
      }
      row = next
    }
    guard let attribute = sectionPath.last.attribute else { return "" }
    return try row.value(of: attribute, sectionPath.last.slot).unwrapped.map { "\($0)" } ?? ""
  }
}

extension [ResultsEntry] {
  /// Merges two sorted arrays. Cost: a pass over this one, a few comparisons for each of the others.
  fileprivate func merged(with others: Self, _ isBefore: (Element, Element) throws -> Bool) throws -> Self {
    if others.isEmpty { return self }
    var result: Self = []
    result.reserveCapacity(count + others.count)
    var next = 0
    for other in others {
      let place = try firstPlace(from: next) { try isBefore(other, $0) }
      result += self[next..<place]
      result.append(other)
      next = place
    }
    return result + self[next...]
  }
}

/// The dependencies of a fetch's result.
struct Dependencies {
  /// The families whose changes can change the result.
  let roots: Set<UInt16>
  /// True if an object's own values decide whether and where it is in the result.
  let isLocal: Bool

  init(_ query: FetchQuery) throws {
    let families = try RelatedFamilies(query.condition, query.sorts, entity: query.entity)
    let all = families.toOne.union(families.toMany).union([query.entity.root.index])
    roots = Set(all.map { UInt16(truncatingIfNeeded: $0) })
    isLocal = families.isEmpty
  }
}
