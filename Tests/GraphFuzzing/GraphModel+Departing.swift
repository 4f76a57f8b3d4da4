// Where deletes and references meet: nothing that waits in a context leads to an object that is gone there.

extension GraphModel {
  /// What becomes of a reference whose destination is gone.
  private enum Effect {
    case cleared
    case deletesOwner
    case stays
  }

  /// - Parameter isNew: whether the destination was gone before the reference came, or never was saved.
  private func effect(_ end: Schema.End, isNew: Bool) -> Effect {
    switch end.inverse.map({ schema.ends[$0].shape.rule }) {
    case .cascade: .deletesOwner
    case .nullify: .cleared
    case .deny, .noAction, nil: isNew ? .cleared : .stays
    }
  }

  /// Whether an object is gone in a context: deleted, taken back, or deleted by an earlier save of it.
  func isGone(_ number: Int, _ context: Int) -> Bool {
    guard let change = valueChange(number, context) else {
      return contexts[context].departed.contains(number) && rows[number] == nil
    }
    return change.kind == .delete || change.kind == .forgotten
  }

  /// Takes what a child saved, all but changes of objects that are gone, and with nothing that leads to them.
  mutating func adopt(_ changes: [Int: Change], _ links: [LinkKey: LinkState], _ context: Int) {
    var arriving = changes
    var doomed: [Int] = []
    // An undo brings back what was gone.
    func isGone(_ number: Int) -> Bool { changes[number]?.kind != .insert && self.isGone(number, context) }
    for (number, change) in changes {
      if isGone(number) {
        arriving[number] = nil
      } else if change.kind == .touch {
        arriving[number] = .foreignTouch
      } else if let row = change.row {
        let settled = withoutGone(row, base: change.base, isGone)
        if settled.isDoomed { doomed.append(number) }
        if let row = settled.row { arriving[number]?.row = identified(row) }
      }
    }
    let leading = links.filter { $0.value.isPresent && (isGone($0.key.left) || isGone($0.key.right)) }
    for (number, change) in arriving { absorb(change, of: number, context) }
    for (key, link) in links where leading[key] == nil {
      contexts[context].links[key] = Self.follow(contexts[context].links[key], link)
    }
    clear(gone: arriving.filter { $0.value.kind == .delete }.map(\.key), doomed: doomed, context)
  }

  /// The same for what the context's own event did.
  mutating func clearGone(ofEventIn context: Int) {
    let deleted = event.keys.filter { isGone($0, context) && !goneBefore.contains($0) }
    var doomed: [Int] = []
    // An undo brings back what was gone.
    let former = goneBefore.filter { isGone($0, context) }
    for (number, before) in event {
      guard let row = valueChange(number, context)?.row else { continue }
      let settled = withoutGone(row, base: before) { former.contains($0) }
      if settled.isDoomed { doomed.append(number) }
      if let row = settled.row {
        let row = identified(row)
        contexts[context].changes[number]?.row = row
      }
    }
    for (key, link) in contexts[context].links where link.isPresent && eventLinks[key] != nil {
      if former.contains(key.left) || former.contains(key.right) {
        contexts[context].links[key] = eventLinks[key]?.wasPending == true ? eventLinks[key]?.before : nil
      }
    }
    clear(gone: deleted.sorted(), doomed: doomed, unlinks: false, context)
  }

  /// The same for what a merge or a refresh brought: a change here on top of newer values may lead to what is gone here.
  mutating func clearGone(ofRebased numbers: [Int], in context: Int) {
    var doomed: [Int] = []
    for number in numbers {
      let change = contexts[context].changes[number]
      guard change?.kind == .update, let row = change?.row else { continue }
      // What it leads to was there when it came to lead to it, here or above.
      let settled = withoutGone(row, base: row) { isGone($0, context) }
      if settled.isDoomed { doomed.append(number) }
      if let row = settled.row {
        let row = identified(row)
        contexts[context].changes[number]?.row = row
      }
    }
    clear(gone: [], doomed: doomed, unlinks: false, context)
  }

  /// A row without references to what is gone; nil if there are none.
  private func withoutGone(
    _ row: Row, base: Row?, _ isGone: (Int) -> Bool
  ) -> (row: Row?, isDoomed: Bool) {
    var settled: Row?
    var isDoomed = false
    for end in schema.ends(of: row.entity) where end.storage == .reference {
      guard case .reference(let other)? = row.cells[end.name] else { continue }
      guard isGone(other) else { continue }
      let effect = effect(end, isNew: base?.cells[end.name] != row.cells[end.name])
      if effect == .stays { continue }
      if effect == .deletesOwner { isDoomed = true }
      var changed = settled ?? row
      changed.cells[end.name] = nil
      if let place = end.placeName { changed.cells[place] = nil }
      settled = changed
    }
    return (settled, isDoomed)
  }

  /// Lets nothing that waits in a context lead to objects that are gone, and deletes what goes with them.
  private mutating func clear(gone: [Int], doomed: [Int], unlinks: Bool = true, _ context: Int) {
    var queue = gone
    func delete(_ number: Int, _ model: inout GraphModel) {
      guard let row = model.valueChange(number, context)?.row else { return }
      model.absorb(Change(kind: .delete, row: nil, base: row), of: number, context)
      queue.append(number)
    }
    for number in doomed { delete(number, &self) }
    var all: Set<Int> = []
    while let number = queue.popLast() {
      if !all.insert(number).inserted { continue }
      let wasNeverSaved = contexts[context].changes[number]?.kind == .forgotten
      for (owner, change) in contexts[context].changes {
        guard change.kind != .touch, var row = change.row else { continue }
        var isDoomed = false
        for end in schema.ends(of: row.entity) where end.storage == .reference {
          guard row.cells[end.name] == .reference(number) else { continue }
          switch effect(end, isNew: wasNeverSaved) {
          case .deletesOwner: isDoomed = true
          case .stays: break
          case .cleared:
            row.cells[end.name] = nil
            if let place = end.placeName { row.cells[place] = nil }
          }
        }
        if isDoomed {
          delete(owner, &self)
        } else if row.identity == nil {
          let row = identified(row)
          contexts[context].changes[owner]?.row = row
        }
      }
    }
    // The context's own rules have cleared what they clear; a delete that is refused finds the rest again.
    if !unlinks { return }
    for (key, link) in contexts[context].links
    where link.isPresent && (all.contains(key.left) || all.contains(key.right)) {
      contexts[context].links[key] = LinkState(isPresent: false)
    }
  }

  /// Remembers what leaves a context for good with a save.
  mutating func noteSaved(_ context: Int, _ dropped: Set<Int>) {
    for (number, change) in contexts[context].changes {
      // What gave way is there; or gone, if others have deleted it, too.
      if dropped.contains(number), change.kind != .delete || rows[number] != nil { continue }
      switch change.kind {
      case .insert: contexts[context].departed.remove(number)
      case .forgotten where commits[number] == nil: contexts[context].departed.insert(number)
      // Elsewhere the delete waits above.
      case .delete where contexts[context].parent == nil: contexts[context].departed.insert(number)
      case .delete, .update, .forgotten, .touch: break
      }
    }
  }

  /// The same where changes are dropped: what was inserted is known to nobody any more, unless it was stored once.
  mutating func noteDropped(_ context: Int) {
    for (number, change) in contexts[context].changes
    where (change.kind == .insert || change.kind == .forgotten) && commits[number] == nil {
      contexts[context].departed.insert(number)
    }
  }
}

// MARK: - In the store

extension GraphModel {
  /// Does what delete rules say to stored and saved objects that lead to what a save deletes; false if they refuse.
  func applyDeleteRules(_ written: inout [Int: Change], _ links: inout [LinkKey: LinkState]) -> Bool {
    var isDone = false
    while !isDone {
      isDone = true
      let deleted = Set(written.filter { $0.value.kind == .delete }.keys)
      var all = rows.mapValues { Change(kind: .update, row: $0.row, base: $0.row) }
      all.merge(written) { $1 }
      for (number, change) in all {
        guard var row = change.row else { continue }
        var result: Change? = change
        var isChanged = false
        for end in schema.ends(of: row.entity) where end.storage == .reference {
          guard case .reference(let other)? = row.cells[end.name], deleted.contains(other) else { continue }
          switch end.inverse.map({ schema.ends[$0].shape.rule }) {
          case .deny: return false
          case .nullify:
            isChanged = true
            if !end.shape.isOptional { return false }
            row.cells[end.name] = nil
            if let place = end.placeName { row.cells[place] = nil }
            result?.row = row
          case .cascade:
            isChanged = true
            result = change.kind == .insert ? nil : Change(kind: .delete, row: nil, base: change.base)
          case .noAction, nil: continue
          }
          if result?.row == nil { break }
        }
        if !isChanged { continue }
        isDone = false
        written[number] = result
        if result == nil { links = links.filter { $0.key.left != number && $0.key.right != number } }
      }
    }
    return true
  }
}
