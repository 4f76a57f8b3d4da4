import Foundation
import ObjectModel
extension Condition {
  init<T>(_ p: Foundation.Predicate<T>) throws(PredicateError) { throw PredicateError(.unknownEntity, "") }
}
extension SortDescriptor {
  func resolved(for e: Entity) throws(PredicateError) -> ResolvedSort {
    ResolvedSort(keyPath: keyPath, isAscending: isAscending)
  }
}
