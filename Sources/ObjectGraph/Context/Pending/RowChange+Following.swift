import ObjectModel

extension RowChange {
  /// This change and then another of the same object, as one change against this one's base.
  ///
  /// A delete is final: an update by somebody who did not know of it yet is dropped.
  func followed(by next: RowChange, layouts: [RowLayout]) -> RowChange {
    switch (kind, next.kind) {
    case (.insert, .update):
      RowChange(.insert, next.id, row: merged(with: next, layouts: layouts), base: nil)
    case (.update, .update):
      RowChange(.update, next.id, row: merged(with: next, layouts: layouts), base: base)
    case (.insert, .delete):
      RowChange(.forget, id, row: nil, base: nil)
    case (.update, .delete):
      RowChange(.delete, id, row: nil, base: base)
    case (.forget, .insert):
      next
    case (.delete, .insert):
      // The delete was undone by who had made it.
      RowChange(.update, id, row: next.row, base: base)
    case (.delete, _), (.forget, _):
      self
    case (_, .insert), (_, .forget):
      // Keys are drawn once, and inserts that were deleted again are not passed on, so these do not occur.
      next
    }
  }

  /// The next change's values; where it was made against other values than these, both sides' changes together.
  private func merged(with next: RowChange, layouts: [RowLayout]) -> Row? {
    guard let mine = row, let theirs = next.row, let origin = next.base else { return next.row }
    if origin.isIdentical(to: mine) { return theirs }
    return mine.applying(changesFrom: origin, to: theirs, layout: layouts[Int(theirs.entityIndex)])
  }
}
