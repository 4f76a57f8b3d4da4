/// The published changes that a context reports to its observers.
final class ChangeReport {
  /// Published changes not yet reported.
  private var unreported: [ChangeSet] = []
  /// Published changes that are being reported.
  private var reporting: [ChangeSet] = []

  func append(_ set: ChangeSet) { unreported.append(set) }

  /// Starts a report: removes and returns the unreported changes, one per object.
  func begin(layouts: [RowLayout]) -> [ChangeSet] {
    defer { unreported = [] }
    if unreported.count < 2 {
      if !unreported.isEmpty { reporting = unreported }
      return unreported
    }
    var together = Pending()
    for set in unreported { together.absorb(set, layouts: layouts) }
    let sets = together.sets()
    if !sets.isEmpty { reporting = sets }
    return sets
  }

  /// Ends a report.
  func end() { reporting = [] }

  /// Returns the first change of an object in the current event, or nil.
  func firstChange(of id: ManagedObjectID) -> RowChange? {
    for set in reporting { if let change = set.change(of: id) { return change } }
    for set in unreported { if let change = set.change(of: id) { return change } }
    return nil
  }

  /// True if an object was relinked in the current event, and nothing else.
  func isRelinked(_ id: ManagedObjectID) -> Bool { (reporting + unreported).contains { $0.relinked.contains(id) } }

  func removeAll() { unreported = [] }
}
