package import ObjectGraph

/// A final job that is too old, or one too many.
package struct FinalJob: Sendable, Equatable {
  package let id: ManagedObjectID
  /// The ID by which clients and other jobs name it.
  package let name: String

  package init(id: ManagedObjectID, name: String) {
    self.id = id
    self.name = name
  }
}

/// The names by which unfinished jobs name others: whoever leads next looks for the records of these once more.
struct NamedJobs: Sendable {
  private var counts: [String: Int] = [:]
  private var names: [ManagedObjectID: [String]] = [:]

  func contains(_ name: String) -> Bool { counts[name] != nil }

  /// A job that names the one of a name; nil if none does.
  ///
  /// - Complexity: O(n) in the jobs that name others, if one does.
  func dependent(on name: String) -> ManagedObjectID? {
    contains(name) ? names.first { $0.value.contains(name) }?.key : nil
  }

  /// Notes the jobs that an unfinished one names.
  mutating func add(_ new: [String], by id: ManagedObjectID) {
    drop(id)
    if new.isEmpty { return }
    names[id] = new
    for name in new { counts[name, default: 0] += 1 }
  }

  /// Notes that a job is final.
  mutating func drop(_ id: ManagedObjectID) {
    for name in names.removeValue(forKey: id) ?? [] {
      let count = counts[name, default: 0] - 1
      counts[name] = count > 0 ? count : nil
    }
  }
}
