import ObjectModel
import Synchronization

/// The changes that a context has not saved yet, where its children can read and add to them from any thread.
///
/// This is why nobody ever waits for a context that is busy: a child's fetch looks here, a child's save adds here, and
/// a context that is saving keeps what it is writing visible here until it is written. Three layers, oldest first:
///
/// - in flight: what a save is writing;
/// - current: what the next save will write, and what the context's objects show;
/// - arrived: what children saved and the context has not taken notice of yet.
///
/// The context itself sees the first two, its children all three.
package final class PendingChanges: Sendable {
  fileprivate struct State {
    var inFlight: Pending?
    var current = Pending()
    var arrived = Pending()
    /// What arrived, as it came, for observers.
    var news: [ChangeSet] = []
    /// Who made what the next save will write.
    var contributors = Contributors.nobody
    var contributorsInFlight = Contributors.nobody
    /// Who is to be named in the history.
    var author: String?
    /// Who is gone for good, so that later changes from children know.
    var departed = RecentObjects()
    /// Who is gone of those that the context's own changes have deleted, or led to, since these were last settled.
    var unsettled: [ManagedObjectID] = []
    /// Objects whose current changes are otherwise than those who made them know, because of deletes.
    var settled: [ManagedObjectID] = []
    /// The same among what has arrived.
    var settledArrivals: [ManagedObjectID] = []
    /// Counts the saves that moved changes on, so that a reader can tell whether one came between two looks.
    var moves = 0

    /// The layers that hold something, newest first.
    func layers(withArrivals: Bool) -> [Pending] {
      var layers: [Pending] = []
      if withArrivals, !arrived.isUnused { layers.append(arrived) }
      if !current.isUnused { layers.append(current) }
      if let inFlight, !inFlight.isUnused { layers.append(inFlight) }
      return layers
    }
  }

  private let state = Mutex(State())
  private let coordinator: PersistentStoreCoordinator
  private var layouts: [RowLayout] { coordinator.layouts }

  /// The number under which a root context saves; 0 for others.
  let rootNumber: Int

  init(_ coordinator: PersistentStoreCoordinator, rootNumber: Int = 0) {
    self.coordinator = coordinator
    self.rootNumber = rootNumber
  }

  // MARK: For the context

  /// Takes changes that the context's own objects made.
  func append(_ set: ChangeSet) {
    state.withLock { state in
      state.noteUnsettled(set, layouts)
      state.current.absorb(set, layouts: layouts)
      state.contributors = .several
    }
  }

  /// Clears what the context's own changes still lead to and is gone, now that its deletes have been propagated.
  func settle() { state.withLock { $0.settle(layouts) } }

  /// Hands over the objects whose current changes are otherwise than their objects show, because of deletes.
  func takeSettled() -> Set<ManagedObjectID> {
    state.withLock { state in
      if state.settled.isEmpty { return [] }
      defer { state.settled = [] }
      return Set(state.settled)
    }
  }

  /// Who is to be named in the history as the author of this context's changes.
  var author: String? {
    get { state.withLock { $0.author } }
    set { state.withLock { $0.author = newValue } }
  }

  /// The one child whose changes are all that the next save will write; nil if it is not so.
  var soleContributor: TransactionOrigin? {
    state.withLock { if case .one(let origin) = $0.contributors { origin } else { nil } }
  }

  /// Whether a child has saved something that the context has not taken notice of.
  var hasNews: Bool { state.withLock { !$0.news.isEmpty } }

  /// What children saved and the context has not taken notice of.
  var news: [ChangeSet] { state.withLock { $0.news } }

  /// Makes what children saved current, if it is that many sets.
  ///
  /// - Returns: what they saved, or nil.
  func takeNews(count: Int) -> [ChangeSet]? {
    state.withLock { $0.news.count == count } ? takeNews() : nil
  }

  /// Makes what children saved current.
  ///
  /// - Returns: what they saved.
  func takeNews() -> [ChangeSet] {
    state.withLock { state in
      let news = state.news
      guard !news.isEmpty else { return [] }
      if state.current.isUnused {
        state.current.absorb(state.arrived, layouts: layouts)
      } else {
        state.departed.noteForgotten(state.arrived, coordinator)
        for set in state.arrived.sets() { state.makeCurrent(set, coordinator) }
      }
      state.settled += state.settledArrivals
      state.settledArrivals = []
      state.arrived = Pending()
      state.news = []
      return news
    }
  }

  /// The change that the next save will write for an object, or nil if there is none or it came to nothing.
  func currentChange(of id: ManagedObjectID) -> RowChange? { state.withLock { $0.current.change(of: id) } }

  /// Whether the next save will write anything, changes that came to nothing included.
  var hasCurrentChanges: Bool { state.withLock { !$0.current.isUnused } }

  /// All changes that the next save will write.
  func currentSets() -> [ChangeSet] { state.withLock { $0.current.sets() } }

  /// Drops the change of an object that was not inserted here.
  func remove(_ id: ManagedObjectID) { state.withLock { $0.current.remove(id) } }

  /// Replaces the change of an object that was not inserted here.
  func replace(_ change: RowChange) {
    state.withLock { state in
      state.current.remove(change.id)
      state.current.absorb(ChangeSet([change]), layouts: layouts)
    }
  }

  /// What the next save will write for a link, or nil if it has not changed.
  func currentLink(_ key: LinkKey) -> LinkChange? { state.withLock { $0.current.links[key] } }

  /// The objects at both ends of the links that the next save will write.
  var linkedObjects: Set<ManagedObjectID> {
    state.withLock { state in state.current.links.keys.reduce(into: []) { $0.formUnion([$1.left, $1.right]) } }
  }

  /// Drops what became of a link.
  func removeLink(_ key: LinkKey) { state.withLock { $0.current.removeLink(key) } }

  /// Drops what became of an object's links.
  func removeLinks(of id: ManagedObjectID) { state.withLock { $0.current.removeLinks(of: id) } }

  /// Forgets everything that is not being written already, also what has just arrived.
  func removeAll() {
    state.withLock { state in
      state.departed.note(dropped: state.current, coordinator)
      state.departed.note(dropped: state.arrived, coordinator)
      state.current = Pending()
      state.arrived = Pending()
      state.unsettled = []
      state.settled = []
      state.settledArrivals = []
      state.news = []
      state.contributors = .nobody
    }
  }

  /// Ends a save that has nothing to hand on.
  func forgetWhatCameToNothing() {
    state.withLock { state in
      if state.current.isUnused { return }
      state.departed.noteForgotten(state.current, coordinator)
      state.current = Pending()
      state.contributors = .nobody
    }
  }

  /// Starts a save: what was current is in flight now.
  func beginSave() -> [ChangeSet] {
    state.withLock { state in
      precondition(state.inFlight == nil, "a save is under way already")
      state.inFlight = state.current
      let sets = state.current.sets()
      state.current = Pending()
      state.contributorsInFlight = state.contributors
      state.contributors = .nobody
      return sets
    }
  }

  /// Ends a save that has brought everything to the next level.
  ///
  /// - Parameter survivors: objects whose delete gave way to what others have saved.
  func commitSave(survivors: Set<ManagedObjectID> = []) {
    state.withLock { state in
      if let saved = state.inFlight {
        state.departed.note(saved, isStored: rootNumber != 0, survivors: survivors, coordinator)
      }
      state.inFlight = nil
      state.moves += 1
    }
  }

  /// Ends a save that failed: what was in flight is current again, under what came since.
  func abortSave() {
    state.withLock { state in
      guard var pending = state.inFlight else { return }
      pending.absorb(state.current, layouts: layouts)
      state.current = pending
      state.inFlight = nil
      state.contributors.add(state.contributorsInFlight)
    }
  }

  // MARK: For children and others

  /// Takes what a child saved: all but changes of objects that are gone, and with nothing that leads to them.
  ///
  /// - Returns: whether the context has to be told; if not, it was told of earlier news and has not come to look yet.
  func adopt(_ sets: [ChangeSet], from origin: TransactionOrigin = TransactionOrigin()) -> Bool {
    state.withLock { state in
      state.contributors.add(.one(origin))
      let isFirst = state.news.isEmpty
      for set in sets { state.receive(set, coordinator) }
      return isFirst && !state.news.isEmpty
    }
  }

  /// The change of an object as readers below see it; a delete also of what is only being inserted.
  func visibleChange(of id: ManagedObjectID) -> RowChange? {
    state.withLock { $0.layers(withArrivals: true) }[...].change(of: id, layouts: layouts)
  }

  /// The layers at this moment, newest first, to be read at leisure.
  func layers(withArrivals: Bool) -> [Pending] { state.withLock { $0.layers(withArrivals: withArrivals) } }

  /// How often changes have moved on from here.
  var moves: Int { state.withLock { $0.moves } }

  /// What contradicts something else.
  var findings: [String] {
    state.withLock { state in
      let layers = [("in flight", state.inFlight), ("current", state.current), ("arrived", state.arrived)]
      var found = layers.filter { $0.1?.hasValidState == false }.map {
        "the pending changes \($0.0) miscount themselves"
      }
      if state.news.isEmpty != state.arrived.isUnused { found.append("what children saved is told wrongly") }
      return found
    }
  }

  /// Whether nothing waits for a save, or for the end of one.
  package var isEmpty: Bool {
    state.withLock { $0.current.isEmpty && $0.arrived.isEmpty && $0.inFlight?.isEmpty != false }
  }

  /// The number of changed objects that no save has taken on yet, and the bytes they keep in memory.
  package var size: (objects: Int, bytes: Int) {
    state.withLock { state in
      (state.current.objectCount + state.arrived.objectCount, state.current.byteCount + state.arrived.byteCount)
    }
  }
}

// Where deletes and references meet, see ``Pending``.
extension PendingChanges.State {
  /// Takes down what the context's own changes are to be settled against, at the end of the event: until then deletes are
  /// being propagated, and relationships have to stand.
  fileprivate mutating func noteUnsettled(_ set: ChangeSet, _ layouts: [RowLayout]) {
    unsettled += set.deletedIDs
    if !current.hasDeletes, inFlight?.hasDeletes != true { return }
    for change in set.changes {
      guard let row = change.row else { continue }
      for reference in layouts[Int(row.entityIndex)].references {
        if let id = row.referenceIfPresent(reference.slot), isGone(id) { unsettled.append(id) }
      }
    }
  }

  fileprivate mutating func settle(_ layouts: [RowLayout]) {
    if unsettled.isEmpty { return }
    let gone = unsettled.filter(isGone)
    unsettled = []
    // Its objects have taken their links back themselves.
    settled += current.settle(gone: gone, doomed: [], unlinks: false, layouts: layouts)
  }

  private func isGone(_ id: ManagedObjectID) -> Bool { current.isGone(id) ?? inFlight?.isGone(id) ?? false }

  /// Puts changes of children on top of what is current.
  fileprivate mutating func makeCurrent(_ set: ChangeSet, _ coordinator: PersistentStoreCoordinator) {
    let layouts = coordinator.layouts
    let admitted = admitted(set, coordinator, layers: layers(withArrivals: false))
    settled += admitted.altered
    let former = layers(withArrivals: false).formerPartners(of: admitted.set, layouts)
    current.absorb(admitted.set, layouts: layouts)
    for change in layers(withArrivals: false).parted(former, layouts) {
      settled.append(change.id)
      current.absorb(ChangeSet([change]), layouts: layouts)
    }
    settled += current.settle(gone: admitted.set.deletedIDs, doomed: admitted.doomed, layouts: layouts)
  }

  /// Puts changes on top of what has arrived.
  fileprivate mutating func receive(_ set: ChangeSet, _ coordinator: PersistentStoreCoordinator) {
    let layouts = coordinator.layouts
    let admitted = admitted(set, coordinator, layers: layers(withArrivals: true))
    if admitted.set.isEmpty { return }
    settledArrivals += admitted.altered
    let former = layers(withArrivals: true).formerPartners(of: admitted.set, layouts)
    arrived.absorb(admitted.set, layouts: layouts)
    for change in layers(withArrivals: true).parted(former, layouts) {
      settledArrivals.append(change.id)
      arrived.absorb(ChangeSet([change]), layouts: layouts)
    }
    settledArrivals += arrived.settle(gone: admitted.set.deletedIDs, doomed: admitted.doomed, layouts: layouts)
    news.append(admitted.set)
  }

  private func admitted(
    _ set: ChangeSet, _ coordinator: PersistentStoreCoordinator, layers: [Pending]
  ) -> SettledChanges {
    if departed.isEmpty, !layers.contains(where: \.hasDeletes) { return SettledChanges(set) }
    return set.settled(coordinator.layouts) { id in
      for layer in layers { if let isGone = layer.isGone(id) { return isGone } }
      return departed.contains(id) && !coordinator.hasReturned(id) && !layers.contains { $0.change(of: id) != nil }
    }
  }
}

/// Who made some changes, as far as it can be told: one child of a context, or not only one.
private enum Contributors {
  case nobody
  case one(TransactionOrigin)
  case several

  mutating func add(_ others: Contributors) {
    switch (self, others) {
    case (_, .nobody): break
    case (.nobody, _): self = others
    case (.one(let mine), .one(let theirs)) where mine == theirs: break
    default: self = .several
    }
  }
}
