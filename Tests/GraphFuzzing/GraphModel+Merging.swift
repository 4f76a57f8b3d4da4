// How contexts learn of what others saved, and how they drop what they have.

extension GraphModel {
  /// Lets those contexts merge a save that do so by themselves, each before those below it.
  mutating func tellFollowers(of saver: Int) {
    guard let save = lastSaves[saver] else { return }
    mergeInFollowers(of: contexts[saver].parent, save, except: saver)
    mergeInFollowers(of: .some(saver), save, except: saver)
  }

  /// The same for those below a context that has merged a save.
  mutating func tellFollowers(below context: Int, ofSaveBy saver: Int) {
    guard let save = lastSaves[saver] else { return }
    mergeInFollowers(of: .some(context), save, except: saver)
  }

  /// - Parameter level: nil for the coordinator.
  private mutating func mergeInFollowers(of level: Int?, _ save: [Int: Change], except saver: Int) {
    for context in places.indices
    where context != saver && places[context].parent == level && places[context].mergesAutomatically {
      merge(save, into: context)
      mergeInFollowers(of: .some(context), save, except: saver)
    }
  }

  /// Whether the context reads from the level that the saver saves to.
  func isConcerned(_ context: Int, bySaveOf saver: Int) -> Bool {
    if context == saver { return false }
    guard let level = contexts[saver].parent else { return true }
    return ancestors(of: context).contains(level)
  }

  /// Takes over what another context saved; by values, or reading them again.
  mutating func merge(_ save: [Int: Change], into context: Int, byIDs: Bool = false) {
    defer { clearGone(ofRebased: Array(save.keys), in: context) }
    for (number, change) in save {
      let pending = ancestors(of: context).compactMap { valueChange(number, $0) }.first
      let fresh: Row?
      if let pending {
        fresh = pending.row
      } else if change.kind == .delete {
        // Out of date if somebody has stored it again since; what is read by IDs is what is there now.
        fresh = byIDs ? rows[number]?.row : nil
        if !byIDs, rows[number] != nil {
          if contexts[context].changes[number] == nil { contexts[context].held[number] = nil }
          continue
        }
      } else {
        // Who relinked an object does not tell of its values, and so not that it is gone.
        if change.kind == .touch, !byIDs, rows[number] == nil, commits[number] != nil { continue }
        // What never was stored as it was is read; of what was deleted since, nobody has told yet.
        let wasStored = change.row?.identity.map { stamps[$0] != nil } ?? false
        fresh = rows[number]?.row ?? (byIDs || !wasStored ? nil : change.row)
      }
      if byIDs, change.kind != .delete, contexts[context].changes[number]?.kind == .delete { continue }
      if let fresh { merge(fresh, number, context) } else { mergeDelete(number, context) }
    }
    contexts[context].mayBeStale = false
  }

  private mutating func merge(_ fresh: Row, _ number: Int, _ context: Int) {
    guard let change = contexts[context].changes[number] else {
      if contexts[context].held[number] != nil { contexts[context].held[number] = fresh }
      return
    }
    guard change.kind == .update || change.kind == .touch, let base = change.base, let mine = change.row,
      !isNewer(base, than: fresh)
    else { return }
    var newBase = fresh
    contexts[context].conflicting[number] = nil
    if contexts[context].parent == nil {
      // Where both sides changed a property, the conflict waits for the save.
      let names = Set(mine.cells.keys).union(base.cells.keys).union(fresh.cells.keys)
      let clashes = names.filter {
        mine.cells[$0] != base.cells[$0] && fresh.cells[$0] != base.cells[$0] && fresh.cells[$0] != mine.cells[$0]
      }
      if !clashes.isEmpty {
        for name in clashes { newBase.cells[name] = base.cells[name] }
        newBase.identity = drawIdentity()
        if let identity = newBase.identity { stamps[identity] = base.identity.flatMap { stamps[$0] } }
        contexts[context].conflicting[number] = fresh
      }
    }
    let row = rebased(mine, from: base, onto: newBase, kind: change.kind)
    contexts[context].changes[number] = Change(kind: change.kind, row: row, base: newBase)
    if contexts[context].held[number] != nil { contexts[context].held[number] = newBase }
  }

  /// A row's changes on top of another; an update is a row of its own, also if nothing is different any more.
  private mutating func rebased(_ row: Row, from base: Row, onto newBase: Row, kind: Change.Kind) -> Row {
    var result = newBase.applying(changesFrom: base, to: row)
    if kind == .update, result.identity == newBase.identity { result.identity = nil }
    return identified(result)
  }

  private func isNewer(_ row: Row, than other: Row) -> Bool {
    if row.identity == other.identity { return true }
    guard let mine = row.identity.flatMap({ stamps[$0] }), let theirs = other.identity.flatMap({ stamps[$0] }) else {
      return false
    }
    return mine >= theirs
  }

  private mutating func mergeDelete(_ number: Int, _ context: Int) {
    let change = contexts[context].changes[number]
    if change?.kind == .insert || change?.kind == .forgotten { return }
    // The policy decides about a root's edits when they are saved.
    if let change, change.kind == .update, contexts[context].parent == nil {
      contexts[context].conflicting[number] = .some(nil)
      return
    }
    if change != nil { drop(number, context) }
    contexts[context].held[number] = nil
  }

  private mutating func drop(_ number: Int, _ context: Int) {
    contexts[context].changes[number] = nil
    contexts[context].links = contexts[context].links.filter { $0.key.left != number && $0.key.right != number }
  }

  // MARK: Dropping

  mutating func refresh(_ number: Int, mergingChanges: Bool, _ context: Int) {
    defer { contexts[context].held[number] = nil }
    guard let change = contexts[context].changes[number] else { return }
    if change.kind == .insert || change.kind == .forgotten { return }
    contexts[context].conflicting[number] = nil
    if !mergingChanges {
      drop(number, context)
      return revertPartners(of: number, change, context)
    }
    guard let base = change.base, let fresh = rowAbove(number, context) else { return }
    let row = change.row.map { rebased($0, from: base, onto: fresh, kind: change.kind) }
    contexts[context].changes[number] = Change(kind: change.kind, row: row, base: fresh)
    clearGone(ofRebased: [number], in: context)
  }

  /// Lets the other ends of one-to-one relationships lead back to an object whose changes were dropped.
  private mutating func revertPartners(of number: Int, _ dropped: Change, _ context: Int) {
    guard dropped.kind != .touch || dropped.row != nil, let row = rowAbove(number, context) else { return }
    for end in schema.ends(of: row.entity) where end.storage == .reference {
      guard let inverse = end.inverse.map({ schema.ends[$0] }), inverse.storage == .reference else { continue }
      // The delete has cleared it at the other end.
      if dropped.row?.cells[end.name] == row.cells[end.name] { continue }
      if case .reference(let other)? = dropped.row?.cells[end.name], other != number {
        clear(other, inverse.name, leadingTo: number, context)
      }
      guard case .reference(let other)? = row.cells[end.name], other != number else { continue }
      if shown(other, context) == nil || reference(other, inverse.name, context) == number { continue }
      relate(other, inverse, for: number, end, context)
    }
  }

  mutating func refreshAll(_ context: Int) {
    // What was only touched has no values of its own, and is read again.
    for (number, change) in contexts[context].changes where change.kind == .touch {
      contexts[context].changes[number] = .foreignTouch
    }
    contexts[context].held = contexts[context].held.filter { valueChange($0.key, context) != nil }
    contexts[context].mayBeStale = false
  }

  mutating func rollback(_ context: Int) {
    for (number, change) in contexts[context].changes where contexts[context].held[number] != nil {
      if let stored = contexts[context].conflicting[number] { contexts[context].held[number] = stored }
      if change.kind == .insert || change.kind == .forgotten { contexts[context].held[number] = nil }
    }
    noteDropped(context)
    forgetChanges(context)
    forgetEvents(context)
    contexts[context].mayBeStale = false
  }

  private mutating func forgetEvents(_ context: Int) {
    contexts[context].undoStack = []
    contexts[context].redoStack = []
  }

  mutating func reset(_ context: Int) {
    contexts[context].held = [:]
    noteDropped(context)
    forgetChanges(context)
    forgetEvents(context)
    contexts[context].mayBeStale = false
  }
}
