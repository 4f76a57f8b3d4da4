import Foundation

extension Condition {
  init<T>(_ predicate: Foundation.Predicate<T>) throws(PredicateError) {
    throw PredicateError(.unsupported, "a #Predicate can't be read yet; use a format string")
  }
}
