import Foundation
import ObjectModel
public struct PredicateError: Error {
  struct Code { static let unknownEntity = Code() }; init(_ c: Code, _ m: String) {}
}
extension Condition {
  func resolved(for e: Entity) throws(PredicateError) -> Condition { self }
  init<T>(_ p: Foundation.Predicate<T>) throws(PredicateError) { throw PredicateError(.unknownEntity, "") }
}
extension SortDescriptor {
  func resolved(for e: Entity) throws(PredicateError) -> ResolvedSort {
    ResolvedSort(keyPath: keyPath, isAscending: isAscending)
  }
}
struct ConditionEvaluator {
  init(_ c: Condition, entity: Entity, related: (ManagedObjectID) throws -> Row?) throws {};
  func matches(id: ManagedObjectID, row: Row) throws -> Bool { true }
}
struct RowComparator {
  init(_ c: [ResolvedSort], entity: Entity, related: (ManagedObjectID) throws -> Row?) throws {};
  func areInIncreasingOrder(_ a: (ManagedObjectID, Row), _ b: (ManagedObjectID, Row)) throws -> Bool { true }
}
