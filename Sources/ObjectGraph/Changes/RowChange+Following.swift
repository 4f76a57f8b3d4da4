package import ObjectModel

extension RowChange {
  /// This change and then another of the same object, as one change against this one's base.
  func followed(by next: RowChange, layouts: [RowLayout]) -> RowChange {
    switch (kind, next.kind) {
    case (.insert, .insert), (.forget, .insert):
      return next
    case (.insert, .update):
      return RowChange(.insert, next.id, row: merged(with: next, layouts: layouts), base: nil)
    case (.insert, .delete), (.insert, .forget), (.forget, .forget), (.forget, .delete):
      return RowChange(.forget, id, row: nil, base: nil)
    case (.update, .update):
      return RowChange(.update, next.id, row: merged(with: next, layouts: layouts), base: base)
    case (.update, .delete), (.delete, .delete):
      return RowChange(.delete, id, row: nil, base: base)
    case (.update, .insert), (.delete, .insert), (.delete, .update):
      return RowChange(.update, next.id, row: next.row, base: base)
    case (.update, .forget), (.delete, .forget):
      return next
    case (.forget, .update):
      return next
    }
  }

  /// The next change's values; where it was made against other values than these, both sides' changes together.
  private func merged(with next: RowChange, layouts: [RowLayout]) -> Row? {
    guard let mine = row, let theirs = next.row, let origin = next.base else { return next.row }
    if origin.isIdentical(to: mine) { return theirs }
    return mine.applying(changesFrom: origin, to: theirs, layout: layouts[Int(theirs.entityIndex)])
  }
}
