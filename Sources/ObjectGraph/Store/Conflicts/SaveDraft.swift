import ObjectModel

/// The changes of a save while its conflicts are being resolved.
struct SaveDraft {
  /// The changes still to be written.
  private(set) var sets: [ChangeSet]
  /// Changes whose values were altered.
  private var rewritten: [ManagedObjectID: RowChange] = [:]
  /// Objects whose changes were dropped in favour of the store, with the stored row; nil if there is none.
  private var dropped: [ManagedObjectID: Row?] = [:]
  /// The slots that were set in new objects, if known; otherwise those that differ from the defaults count.
  private(set) var givenSlots: [ManagedObjectID: [Int]] = [:]

  init(sets: [ChangeSet], givenSlots: [ManagedObjectID: [Int]] = [:]) {
    self.sets = sets
    self.givenSlots = givenSlots
  }

  /// Returns the outcome of the completed save, including relinked objects, which no store gets.
  func finalOutcome(of sets: [ChangeSet]) -> SaveOutcome {
    var final = SaveOutcome(sets: self.sets, rewritten: Array(rewritten.values), dropped: dropped)
    if rewritten.isEmpty && dropped.isEmpty {
      final.sets = sets
    } else {
      let relinked = sets.flatMap(\.relinked).filter { dropped[$0] == nil && rewritten[$0] == nil }
      if !relinked.isEmpty { final.sets.append(ChangeSet([], relinked: relinked)) }
    }
    return final
  }

  /// Replaces or drops each change that is not in a batch.
  mutating func replaceChanges(_ replacement: (RowChange) -> RowChange?) {
    sets = sets.map {
      ChangeSet($0.changes.compactMap(replacement), batches: $0.batches, links: $0.links)
    }
    .filter { !$0.isEmpty }
  }

  /// Turns packed rows into changes, so that each can be resolved by itself.
  mutating func unpackBatches() {
    let batches = sets.flatMap(\.batches)
    if batches.isEmpty { return }
    var unpacked = sets.map { ChangeSet($0.changes, links: $0.links) }
    for batch in batches {
      unpacked.append(
        ChangeSet(
          (0..<batch.count).map { index in
            RowChange(.insert, batch.id(at: index), row: batch.copy(of: index), base: nil)
          }))
      for index in 0..<batch.count { givenSlots[batch.id(at: index)] = batch.givenSlots(of: index) }
    }
    sets = unpacked
  }

  /// Replaces or drops each link.
  mutating func replaceLinks(_ replacement: (LinkChange) -> LinkChange?) {
    sets = sets.map { set in
      set.links.isEmpty
        ? set : ChangeSet(set.changes, batches: set.batches, links: set.links.compactMap(replacement))
    }
  }

  mutating func add(_ set: ChangeSet) { sets.append(set) }

  /// Notes a change whose values were altered.
  mutating func noteRewritten(_ change: RowChange) {
    rewritten[change.id] = change
    dropped[change.id] = nil
  }

  /// Notes an object whose change was dropped.
  mutating func noteDropped(_ id: ManagedObjectID, stored: Row?) {
    rewritten[id] = nil
    dropped[id] = .some(stored)
  }
}

/// The outcome of a save to the store, after conflicts were resolved.
struct SaveOutcome {
  /// The sets that were written.
  var sets: [ChangeSet]
  /// The written changes whose values were altered by the resolution.
  var rewritten: [RowChange] = []
  /// Objects whose changes were dropped in favour of the store, with the stored row; nil if there is none.
  var dropped: [ManagedObjectID: Row?] = [:]
  /// New values of derived attributes, of these objects and others.
  var derived: [DerivedValue] = []

  /// Objects that are stored with other values than the context wanted.
  var survivors: Set<ManagedObjectID> {
    var survivors = Set(rewritten.lazy.filter { $0.kind != .delete }.map(\.id))
    for (id, row) in dropped where row != nil { survivors.insert(id) }
    return survivors
  }

  /// The effects of conflicts on objects of the saving context; nil if there are none.
  var resolved: ChangeSet? {
    let changes =
      rewritten.filter { $0.kind != .delete }
      + dropped.map { id, row in RowChange(row == nil ? .delete : .update, id, row: row, base: nil) }
    return changes.isEmpty ? nil : ChangeSet(changes)
  }
}
