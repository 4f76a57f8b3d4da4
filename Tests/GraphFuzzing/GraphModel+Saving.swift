import ObjectModel

/// How a save ends.
enum SaveResult: String, Sendable {
  case saved
  case nothing
  /// A value or a delete breaks a rule of the model.
  case invalid
  case conflicts
}

extension GraphModel {
  /// What a save of the context does; leaves everything as it is unless it succeeds.
  ///
  /// - Parameter isChecked: whether the context checks an object that has changes: one that only children have changed
  ///   was checked by them, and may not be in memory.
  mutating func save(_ context: Int, isChecked: (Int) -> Bool) -> SaveResult {
    let changes = contexts[context].changes
    if changes.values.allSatisfy({ $0.kind == .forgotten }), changedLinks(context).isEmpty {
      endSave(context, changes.mapValues(\.row))
      return .nothing
    }
    if changes.keys.contains(where: { isChecked($0) && !isValid($0, context) }) { return .invalid }
    if let parent = contexts[context].parent {
      lastSaves[context] = changes.filter { $0.value.kind != .forgotten }
      adopt(changes.filter { $0.value.kind != .forgotten }, changedLinks(context), parent)
      endSave(context, changes.mapValues(\.row))
      return .saved
    }
    return saveToStore(context)
  }

  /// Takes what a child saved; where both changed an object, the later save wins property by property.
  mutating func absorb(_ later: Change, of number: Int, _ context: Int) {
    // Deny rules are checked again with what was changed here: who deleted it did not know of that.
    if later.kind == .delete, contexts[context].changes[number]?.row != nil {
      lastRows[LastRow(context: context, number: number)] = shown(number, context)
    }
    guard let earlier = contexts[context].changes[number] else {
      contexts[context].changes[number] = later
      return
    }
    contexts[context].changes[number] = follow(earlier, later)
  }

  private mutating func follow(_ earlier: Change, _ later: Change) -> Change {
    if later.kind == .touch { return earlier }
    if earlier.kind == .touch { return later }
    switch (earlier.kind, later.kind) {
    // A delete is final, unless who made it takes it back.
    case (.delete, .insert): return Change(kind: .update, row: later.row, base: earlier.base)
    case (.forgotten, .insert): return later
    case (.delete, _), (.forgotten, _): return earlier
    case (.insert, .delete): return Change(kind: .forgotten, row: nil, base: nil)
    case (_, .delete): return Change(kind: .delete, row: nil, base: earlier.base)
    default:
      guard let mine = earlier.row, let theirs = later.row, let origin = later.base else { return later }
      let row = origin.identity == mine.identity ? theirs : mine.applying(changesFrom: origin, to: theirs)
      return Change(kind: earlier.kind, row: identified(row), base: earlier.base)
    }
  }

  /// Ends a successful save: objects that are held show what was saved.
  mutating func endSave(_ context: Int, _ saved: [Int: Row?], dropped: Set<Int> = []) {
    for number in contexts[context].held.keys where contexts[context].changes[number]?.kind != .touch {
      if let row = saved[number] { contexts[context].held[number] = row }
    }
    contexts[context].saveCount += 1
    noteSaved(context, dropped)
    forgetChanges(context)
  }

  mutating func forgetChanges(_ context: Int) {
    contexts[context].changes = [:]
    contexts[context].links = [:]
    contexts[context].departing = []
    contexts[context].conflicting = [:]
    lastRows = lastRows.filter { $0.key.context != context }
  }

  // MARK: Validation

  private func isValid(_ number: Int, _ context: Int) -> Bool {
    guard let change = contexts[context].changes[number] else { return true }
    switch change.kind {
    case .forgotten: return true
    case .delete:
      guard let row = change.base else { return true }
      let last = lastRow(number, context) ?? row
      return hasRequiredAttributes(last)
        && schema.ends(of: row.entity).allSatisfy {
          $0.shape.rule != .deny || remaining(number, last, $0, context) == 0
        }
    case .insert, .update, .touch:
      guard let row = shown(number, context) else { return true }
      return hasRequiredAttributes(row)
        && schema.ends(of: row.entity).allSatisfy {
          $0.storage != .reference || $0.shape.isOptional || row.cells[$0.name] != nil
        }
    }
  }

  /// The values that a deleted object had when it was deleted.
  private func lastRow(_ number: Int, _ context: Int) -> Row? { lastRows[LastRow(context: context, number: number)] }

  private func hasRequiredAttributes(_ row: Row) -> Bool {
    schema.attributes(of: row.entity).allSatisfy { $0.isOptional || row.cells[$0.name] != nil }
  }

  private func remaining(_ number: Int, _ row: Row, _ end: Schema.End, _ context: Int) -> Int {
    guard end.storage == .reference else {
      // What others have deleted is no destination any more, though a link to it still waits here.
      return destinations(number, end, context).filter { shown($0, context) != nil }.count
    }
    if case .reference(let other)? = row.cells[end.name] { return shown(other, context) == nil ? 0 : 1 }
    return 0
  }
}

// MARK: - To the store

extension GraphModel {
  private enum Decision {
    case write(Change)
    case drop
    case conflict
  }

  private mutating func saveToStore(_ context: Int) -> SaveResult {
    var written: [Int: Change] = [:]
    var dropped: Set<Int> = []
    for (number, change) in contexts[context].changes where change.kind != .forgotten && change.kind != .touch {
      switch decision(number, change, context) {
      case .write(let change): written[number] = change
      case .drop: dropped.insert(number)
      case .conflict: return .conflicts
      }
    }
    // What gave way to a delete of others, or kept an object that was to be deleted, takes its links along.
    var links = changedLinks(context)
    let gone = dropped.filter { rows[$0] == nil || contexts[context].changes[$0]?.kind == .delete }
    links = links.filter { !gone.contains($0.key.left) && !gone.contains($0.key.right) }
    guard clearMissing(&written, &links, context) else { return .conflicts }
    guard applyDeleteRules(&written, &links) else { return .invalid }
    commit(written, links, context)
    let changes = contexts[context].changes
    let touched = changes.filter { $0.value.kind == .touch && written[$0.key] == nil && !dropped.contains($0.key) }
    lastSaves[context] = written.merging(touched) { $1 }
    endSave(
      context,
      Dictionary(uniqueKeysWithValues: changes.keys.map { ($0, rows[$0]?.row) }),
      dropped: dropped)
    return .saved
  }

  /// Lets nothing lead to what others have deleted, which leaves the context; false if that is a conflict.
  private mutating func clearMissing(
    _ written: inout [Int: Change], _ links: inout [LinkKey: LinkState], _ context: Int
  ) -> Bool {
    let isError = places[context].policy == .error
    let existing = Set(rows.keys).union(written.filter { $0.value.kind == .insert }.keys)
    var missing: Set<Int> = []
    for (number, change) in written {
      guard var row = change.row else { continue }
      for end in schema.ends(of: row.entity) where end.storage == .reference {
        guard case .reference(let other)? = row.cells[end.name], !existing.contains(other) else { continue }
        if change.base?.cells[end.name] == row.cells[end.name] { continue }
        if isError || !end.shape.isOptional { return false }
        missing.insert(other)
        row.cells[end.name] = nil
        written[number]?.row = row
      }
    }
    for (key, link) in links where link.isPresent {
      let ends = [key.left, key.right].filter { !existing.contains($0) }
      if ends.isEmpty { continue }
      if isError { return false }
      missing.formUnion(ends)
      links[key] = nil
    }
    for number in missing { contexts[context].held[number] = nil }
    return true
  }

  private mutating func commit(_ written: [Int: Change], _ links: [LinkKey: LinkState], _ context: Int) {
    lastStamp += 1
    for (number, change) in written {
      commits[number, default: []].append(Commit(stamp: lastStamp, root: context))
      if let row = change.row {
        let row = identified(row)
        rows[number] = Stored(row: row, stamp: lastStamp)
        if let identity = row.identity { stamps[identity] = lastStamp }
      } else {
        rows[number] = nil
        storedLinks = storedLinks.filter { $0.key.left != number && $0.key.right != number }
      }
    }
    for (key, link) in links where !link.isPresent || (rows[key.left] != nil && rows[key.right] != nil) {
      storedLinks[key] =
        link.isPresent
        ? LinkState(
          isPresent: true, place: link.place ?? storedLinks[key]?.place,
          inversePlace: link.inversePlace ?? storedLinks[key]?.inversePlace) : nil
    }
  }

  // MARK: Conflicts

  private func decision(_ number: Int, _ change: Change, _ context: Int) -> Decision {
    if change.kind == .insert { return decisionOnInsert(number, change, context) }
    guard let stored = rows[number] else {
      // A delete by this stack is final, and what never was stored was taken back by this stack.
      if commits[number]?.last.map({ $0.root == context }) ?? true { return .drop }
      return onDeleted(change, context)
    }
    guard let base = change.base else { return .write(change) }
    if !isStale(number, change, base, stored, context) {
      if base.identity == stored.row.identity || stamps[base.identity ?? -1] == stored.stamp { return .write(change) }
      var merged = change
      merged.base = stored.row
      merged.row = change.row.map { stored.row.applying(changesFrom: base, to: $0) }
      merged.row?.identity = nil
      return .write(merged)
    }
    return onChanged(change, base, stored.row, context)
  }

  /// An insert by an undo may find the object still stored, because the delete that it undoes was taken back above.
  private func decisionOnInsert(_ number: Int, _ change: Change, _ context: Int) -> Decision {
    guard let stored = rows[number], let commits = commits[number] else { return .write(change) }
    if commits.count == 1 || commits.last?.root == context {
      return .write(Change(kind: .update, row: change.row, base: stored.row))
    }
    switch places[context].policy {
    case .error: return .conflict
    case .rollback, .mergeByPropertyStoreTrump: return .drop
    case .overwrite, .mergeByPropertyObjectTrump:
      return .write(Change(kind: .update, row: change.row, base: stored.row))
    }
  }

  /// Whether another root wrote the object since the change's base.
  private func isStale(_ number: Int, _ change: Change, _ base: Row, _ stored: Stored, _ context: Int) -> Bool {
    let stamp = base.identity.flatMap { stamps[$0] } ?? 0
    let others = (commits[number] ?? []).filter { $0.stamp > stamp && $0.root != context }
    if stamp > 0 { return !others.isEmpty }
    // The base was pending in this stack: it is what the stack stored, unless others came later.
    if commits[number]?.count == 1 { return false }
    if commits[number]?.last?.root == context { return false }
    guard let row = change.row else { return true }
    return Set(row.cells.keys).union(base.cells.keys).contains {
      row.cells[$0] != base.cells[$0] && base.cells[$0] != stored.row.cells[$0]
    }
  }

  private func onDeleted(_ change: Change, _ context: Int) -> Decision {
    switch places[context].policy {
    case .error: .conflict
    case .rollback, .mergeByPropertyStoreTrump: .drop
    case .overwrite, .mergeByPropertyObjectTrump:
      change.row.map { .write(Change(kind: .insert, row: $0, base: nil)) } ?? .drop
    }
  }

  private func onChanged(_ change: Change, _ base: Row, _ stored: Row, _ context: Int) -> Decision {
    let policy = places[context].policy
    guard let mine = change.row else {
      switch policy {
      case .error: return .conflict
      case .rollback, .mergeByPropertyStoreTrump: return .drop
      case .overwrite, .mergeByPropertyObjectTrump: return .write(Change(kind: .delete, row: nil, base: stored))
      }
    }
    switch policy {
    case .error: return .conflict
    case .rollback: return .drop
    case .overwrite: return .write(Change(kind: .update, row: mine, base: stored))
    case .mergeByPropertyObjectTrump:
      return .write(Change(kind: .update, row: stored.applying(changesFrom: base, to: mine), base: stored))
    case .mergeByPropertyStoreTrump:
      let merged = mine.applying(changesFrom: base, to: stored)
      return merged.cells == stored.cells ? .drop : .write(Change(kind: .update, row: merged, base: stored))
    }
  }
}
