// What an undo manager takes back, and does again.

extension GraphModel {
  mutating func beginEvent(_ context: Int) {
    goneBefore = Set(entities.keys.filter { isGone($0, context) })
    event = [:]
    eventLinks = [:]
    related = []
  }

  /// Remembers what the event did, if it did anything.
  mutating func endEvent(_ context: Int) {
    guard places[context].hasUndo else { return }
    var record = EventRecord(saveCount: contexts[context].saveCount)
    for (number, before) in event {
      let after = contexts[context].changes[number]?.row
      if before == nil && after == nil { continue }
      record.objects.append(EventRecord.ObjectChange(number: number, before: before, after: after))
    }
    record.links = Array(eventLinks.values)
    if record.objects.isEmpty && record.links.isEmpty { return }
    contexts[context].undoStack.append(record)
    contexts[context].redoStack = []
  }

  /// A link as it is, before it changes.
  func linkRecord(_ key: LinkKey, _ context: Int) -> EventRecord.Link {
    let state = links(of: key.relation, context)[key] ?? LinkState(isPresent: false)
    return EventRecord.Link(key: key, before: state, wasPending: contexts[context].links[key] != nil)
  }

  mutating func undo(_ context: Int) {
    guard let record = contexts[context].undoStack.popLast() else { return }
    let inverse = revert(record, context)
    if !inverse.objects.isEmpty || !inverse.links.isEmpty { contexts[context].redoStack.append(inverse) }
  }

  mutating func redo(_ context: Int) {
    guard let record = contexts[context].redoStack.popLast() else { return }
    let inverse = revert(record, context)
    if !inverse.objects.isEmpty || !inverse.links.isEmpty { contexts[context].undoStack.append(inverse) }
  }

  /// Makes what an event changed what it was; returns what takes this back.
  private mutating func revert(_ record: EventRecord, _ context: Int) -> EventRecord {
    var inverse = EventRecord(saveCount: contexts[context].saveCount)
    let isSaved = record.saveCount != contexts[context].saveCount
    for link in record.links {
      inverse.links.append(linkRecord(link.key, context))
      if isSaved || link.wasPending {
        contexts[context].links[link.key] = Self.follow(contexts[context].links[link.key], link.before)
      } else {
        contexts[context].links[link.key] = nil
      }
    }
    for change in record.objects {
      let now = shown(change.number, context)
      event[change.number] = .some(now)
      switch (change.before, change.after) {
      case (nil, _):
        if now == nil { continue }
        let pending = contexts[context].changes[change.number]
        contexts[context].changes[change.number] =
          pending?.kind == .insert
          ? Change(kind: .forgotten, row: nil, base: nil)
          : Change(kind: .delete, row: nil, base: pending?.base ?? now)
      case (let before?, nil):
        if now != nil { continue }
        restore(change.number, before, context)
      case (let before?, let after?):
        guard let now else { continue }
        touch(change.number, context)
        let row = identified(now.applying(changesFrom: after, to: before))
        if row.identity != now.identity, contexts[context].changes[change.number]?.kind == .touch {
          contexts[context].changes[change.number]?.kind = .update
        }
        contexts[context].changes[change.number]?.row = row
      }
      inverse.objects.append(
        EventRecord.ObjectChange(number: change.number, before: now, after: shown(change.number, context)))
    }
    return inverse
  }

  /// Makes a deleted object one that is not; a new one if its delete was saved, or if it was new.
  private mutating func restore(_ number: Int, _ before: Row, _ context: Int) {
    let pending = contexts[context].changes[number]
    var row = before
    if pending?.kind == .delete, let base = pending?.base {
      contexts[context].changes[number] = Change(
        kind: row.identity == base.identity ? .touch : .update, row: row, base: base)
    } else {
      row.identity = drawIdentity()
      contexts[context].changes[number] = Change(kind: .insert, row: row, base: nil)
    }
  }

  /// What has the values again that it was fetched with may have changes or none; the undo manager holds it, with those
  /// values or what a merge found stored instead.
  ///
  /// - Parameter isHeld: whether it has them in memory.
  mutating func noteClean(_ number: Int, isHeld: Bool, _ context: Int) {
    guard let change = contexts[context].changes[number], change.kind == .update || change.kind == .touch,
      let base = change.base
    else { return }
    if change.row?.cells != base.cells { return }
    contexts[context].changes[number] = nil
    if let stored = contexts[context].conflicting.removeValue(forKey: number) {
      contexts[context].held[number] = stored
    } else if isHeld {
      contexts[context].held[number] = base
    }
  }
}
