import ObjectModel
import Synchronization

/// The changes that a context has not saved yet, where its children can read and add to them from any thread.
///
/// This is why nothing ever waits for a busy context: a child's fetch reads here, a child's save adds here, and a
/// context that is saving keeps its changes visible here until they are written. Three layers, oldest first:
///
/// - in flight: what a save is writing;
/// - current: what the next save will write, and what the context's objects show;
/// - arrived: what children saved and the context has not processed yet, with what its deletes do to the current ones.
///
/// The context itself sees the first two, its children all three.
package final class PendingChanges: Sendable {
  fileprivate struct State {
    var inFlight: Pending?
    var current = Pending()
    var arrived = Pending()
    /// The arrived sets one by one.
    var news: [AdaptedChanges] = []
    /// The contributors of the changes that the next save will write.
    var contributors = Contributors.nobody
    var contributorsInFlight = Contributors.nobody
    /// The author to name in the history.
    var author: String?
    /// Objects that are gone for good, for later changes from children.
    var departed = RecentObjects()
    /// Gone objects that the context's own changes deleted, or referred to, since references were last cleared.
    var gone: [ManagedObjectID] = []
    /// Those of the references that were made when their destination was gone already: by an undo, say.
    var lateReferences: Set<PendingReference> = []
    /// Objects whose current changes were altered because of deletes, unknown to their makers.
    var altered: [ManagedObjectID] = []
    /// A counter of saves that moved changes on, so that a reader notices one between two looks.
    var moves = 0
    /// The number of times that a child has saved into the context.
    var adoptions = 0

    /// Returns the layers that hold something, newest first.
    func layers(withArrivals: Bool) -> [Pending] {
      var layers: [Pending] = []
      if withArrivals, !arrived.isUnused { layers.append(arrived) }
      if !current.isUnused { layers.append(current) }
      return layers + inFlightLayers
    }

    /// The layer in flight, if it holds something.
    var inFlightLayers: [Pending] { if let inFlight, !inFlight.isUnused { [inFlight] } else { [] } }
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

  /// Adds changes that the context's own objects made.
  func append(_ set: ChangeSet) {
    state.withLock { state in
      state.noteGone(set, coordinator)
      state.current.absorb(set, layouts: layouts)
      state.contributors = .several
    }
  }

  /// Clears references from the context's own changes to gone objects, now that deletes have been propagated.
  func clearGoneReferences() { state.withLock { $0.clearGoneReferences(coordinator) } }

  /// Removes and returns the objects whose current changes were altered because of deletes.
  func drainAltered() -> Set<ManagedObjectID> {
    state.withLock { state in
      if state.altered.isEmpty { return [] }
      defer { state.altered = [] }
      return Set(state.altered)
    }
  }

  /// The author to name in the history for this context's changes.
  var author: String? {
    get { state.withLock { $0.author } }
    set { state.withLock { $0.author = newValue } }
  }

  /// The one child that made all changes of the next save; nil if there are others.
  var soleContributor: TransactionOrigin? {
    state.withLock { if case .one(let origin) = $0.contributors { origin } else { nil } }
  }

  /// True if a child has saved something that the context has not processed.
  var hasNews: Bool { state.withLock { !$0.news.isEmpty } }

  /// The sets that children saved and the context has not processed.
  var news: [ChangeSet] { state.withLock { $0.news.map(\.set) } }

  /// Makes the children's changes current, if there are exactly `count` sets.
  ///
  /// - Returns: the sets, or nil.
  func drainNews(count: Int) -> [ChangeSet]? {
    state.withLock { $0.news.count == count } ? drainNews() : nil
  }

  /// Makes the children's changes current.
  ///
  /// - Returns: the sets.
  func drainNews() -> [ChangeSet] {
    state.withLock { state in
      let news = state.news
      guard !news.isEmpty else { return [] }
      if state.current.isUnused {
        state.current.absorb(state.arrived, layouts: layouts)
      } else {
        state.departed.noteForgotten(state.arrived, coordinator)
        for news in news { state.makeCurrent(news.original, coordinator) }
      }
      state.altered += news.flatMap(\.altered)
      state.arrived = Pending()
      state.news = []
      return news.map(\.set)
    }
  }

  /// Returns the change that the next save will write for an object; nil if there is none or it was cancelled.
  func currentChange(of id: ManagedObjectID) -> RowChange? { state.withLock { $0.current.change(of: id) } }

  /// Returns what the next save says of an object; nil if it says nothing, or its change was cancelled.
  func currentState(of id: ManagedObjectID) -> PendingState? {
    state.withLock { state in
      state.current.change(of: id).map(PendingState.changed) ?? (state.current.isRelinked(id) ? .relinked : nil)
    }
  }

  /// True if nothing of an object has changed but relationships that are kept elsewhere.
  func isRelinked(_ id: ManagedObjectID) -> Bool { state.withLock { $0.current.isRelinked(id) } }

  /// True if the next save has any change, cancelled ones included.
  var hasCurrentChanges: Bool { state.withLock { !$0.current.isUnused } }

  /// True if the next save has deletes, cancelled ones included.
  var hasCurrentDeletes: Bool { state.withLock { $0.current.hasDeletes } }

  /// True if the next save deletes an object, or if its insert was cancelled.
  func isCurrentlyGone(_ id: ManagedObjectID) -> Bool { state.withLock { $0.current.isGone(id) ?? false } }

  /// Returns all changes that the next save will write.
  func currentSets() -> [ChangeSet] { state.withLock { $0.current.sets() } }

  /// Drops the change of an object that was not inserted here.
  func remove(_ id: ManagedObjectID) { state.withLock { $0.current.remove(id) } }

  /// Replaces the change of an object that was not inserted here; ``clearGoneReferences()`` must follow.
  func replace(_ change: RowChange) {
    state.withLock { state in
      let set = ChangeSet([change])
      // What it leads to now was there when it came to lead to it.
      state.noteGone(set, hasLateReferences: false, coordinator)
      state.current.remove(change.id)
      state.current.absorb(set, layouts: layouts)
    }
  }

  /// Returns the change that the next save will write for a link; nil if there is none.
  func currentLink(_ key: LinkKey) -> LinkChange? { state.withLock { $0.current.links[key] } }

  /// The objects at both ends of the links that the next save will write.
  var linkedObjects: Set<ManagedObjectID> {
    state.withLock { state in state.current.links.keys.reduce(into: []) { $0.formUnion([$1.left, $1.right]) } }
  }

  /// Drops the change of a link.
  func removeLink(_ key: LinkKey) { state.withLock { $0.current.removeLink(key) } }

  /// Drops the changes of an object's links.
  func removeLinks(of id: ManagedObjectID) { state.withLock { $0.current.removeLinks(of: id) } }

  /// The number of times that a child has saved into the context.
  var adoptions: Int { state.withLock { $0.adoptions } }

  /// Forgets everything that is not already being written, also what has just arrived.
  ///
  /// - Parameter adoptions: does nothing and returns false unless children have saved just so often; nil for any number.
  @discardableResult func removeAll(ifAdopted adoptions: Int? = nil) -> Bool {
    state.withLock { state in
      if let adoptions, adoptions != state.adoptions { return false }
      for dropped in [state.current, state.arrived] { state.departed.note(dropped: dropped, coordinator) }
      (state.current, state.arrived) = (Pending(), Pending())
      (state.gone, state.altered, state.news) = ([], [], [])
      state.lateReferences = []
      state.contributors = .nobody
      return true
    }
  }

  /// Ends a save that has nothing to write.
  func forgetCancelled() {
    state.withLock { state in
      if state.current.isUnused { return }
      state.departed.noteForgotten(state.current, coordinator)
      state.current = Pending()
      state.contributors = .nobody
    }
  }

  /// Starts a save: the current changes become those in flight.
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

  /// Ends a save that has moved everything to the next level.
  ///
  /// - Parameter survivors: objects whose delete was dropped in favour of what others have saved.
  func commitSave(survivors: Set<ManagedObjectID> = []) {
    state.withLock { state in
      if let saved = state.inFlight {
        state.departed.note(saved, isStored: rootNumber != 0, survivors: survivors, coordinator)
      }
      state.inFlight = nil
      state.moves += 1
    }
  }

  /// Ends a failed save: the changes in flight are current again, under those made since.
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

  /// Adds what a child saved, without changes of gone objects and references to them.
  ///
  /// - Returns: true if the context must be notified; false if it has not processed an earlier notification yet.
  func adopt(_ sets: [ChangeSet], from origin: TransactionOrigin = TransactionOrigin()) -> Bool {
    state.withLock { state in
      state.adoptions += 1
      state.contributors.add(.one(origin))
      let isFirst = state.news.isEmpty
      for set in sets { state.receive(set, coordinator) }
      return isFirst && !state.news.isEmpty
    }
  }

  /// Returns the change of an object as readers below see it; a delete stays one, even of a pending insert.
  func visibleChange(of id: ManagedObjectID) -> RowChange? {
    state.withLock { $0.layers(withArrivals: true) }[...].change(of: id, layouts: layouts)
  }

  /// Returns a copy of the layers, newest first.
  func layers(withArrivals: Bool) -> [Pending] { state.withLock { $0.layers(withArrivals: withArrivals) } }

  /// The number of times that changes have moved on from here.
  var moves: Int { state.withLock { $0.moves } }

  /// Descriptions of all contradictions.
  var findings: [String] {
    state.withLock { state in
      let layers = [("in flight", state.inFlight), ("current", state.current), ("arrived", state.arrived)]
      var found = layers.filter { $0.1?.hasValidState == false }.map {
        "the pending changes \($0.0) miscount themselves"
      }
      if state.news.isEmpty != state.arrived.isUnused {
        found.append("the news from children does not match the arrived changes")
      }
      return found
    }
  }

  /// True if nothing waits for a save or for the end of one.
  package var isEmpty: Bool {
    state.withLock { $0.current.isEmpty && $0.arrived.isEmpty && $0.inFlight?.isEmpty != false }
  }

  /// The number of changed objects that no save has started with, and their bytes of memory.
  package var size: (objects: Int, bytes: Int) {
    state.withLock { state in
      (state.current.objectCount + state.arrived.objectCount, state.current.byteCount + state.arrived.byteCount)
    }
  }
}

// Deletes and references in memory, see ``Pending``.
extension PendingChanges.State {
  /// Notes gone objects for the end of the event: until then deletes are being propagated, and relationships must stay.
  fileprivate mutating func noteGone(
    _ set: ChangeSet, hasLateReferences: Bool = true, _ coordinator: PersistentStoreCoordinator
  ) {
    gone += set.deletedIDs
    if !current.hasDeletes, inFlight?.hasDeletes != true, departed.isEmpty { return }
    for change in set.changes {
      guard let row = change.row else { continue }
      for reference in coordinator.layouts[Int(row.entityIndex)].references {
        guard let id = row.referenceIfPresent(reference.slot), isGone(id, coordinator) else { continue }
        gone.append(id)
        if hasLateReferences, change.base?.referenceIfPresent(reference.slot) != id {
          lateReferences.insert(PendingReference(owner: change.id, destination: id))
        }
      }
    }
  }

  fileprivate mutating func clearGoneReferences(_ coordinator: PersistentStoreCoordinator) {
    if gone.isEmpty { return }
    let (gone, late) = (self.gone.filter { isGone($0, coordinator) }, lateReferences)
    self.gone = []
    lateReferences = []
    // Its objects have removed their links themselves.
    altered += current.clearReferences(
      toGone: gone, doomed: [], late: late, unlinks: false, layouts: coordinator.layouts)
  }

  /// True if an object is gone as the context's own objects see it.
  private func isGone(_ id: ManagedObjectID, _ coordinator: PersistentStoreCoordinator) -> Bool {
    Self.isGone(id, layers(withArrivals: false), departed: departed, coordinator: coordinator)
  }

  /// True if an object is deleted in these layers, or has left the context for good.
  private static func isGone(
    _ id: ManagedObjectID, _ layers: [Pending], departed: RecentObjects, coordinator: PersistentStoreCoordinator
  ) -> Bool {
    for layer in layers { if let isGone = layer.isGone(id) { return isGone } }
    return departed.contains(id) && !coordinator.sharedRows.hasReturned(id)
      && !layers.contains { $0.change(of: id) != nil }
  }

  /// Adds changes of children to the current ones.
  fileprivate mutating func makeCurrent(_ set: ChangeSet, _ coordinator: PersistentStoreCoordinator) {
    let adapted = adapted(set, to: layers(withArrivals: false), coordinator)
    let added = Self.add(adapted, to: &current, above: inFlightLayers, coordinator: coordinator)
    // Observers get the news as it arrived, so they have to be told of changes that were dropped since, too.
    altered += added.altered
  }

  /// Adds changes of a child to those that have arrived. Changes of which nothing is left are no news.
  fileprivate mutating func receive(_ set: ChangeSet, _ coordinator: PersistentStoreCoordinator) {
    let adapted = adapted(set, to: layers(withArrivals: true), coordinator)
    // Readers must not find what leads to gone objects until the context has processed this.
    let mayAlterCurrent = adapted.deletesObjects && !current.isUnused
    if mayAlterCurrent { current.indexReferences(coordinator.layouts) }
    let added = Self.add(
      adapted, to: &arrived, above: layers(withArrivals: false), altering: mayAlterCurrent ? current : nil,
      coordinator: coordinator)
    if !added.set.isEmpty { news.append(added) }
  }

  /// Adds adapted changes of a child to the top layer.
  ///
  /// - Parameter below: the layer whose references to what they delete are cleared, in the top layer.
  /// - Returns: the added changes, and the objects whose changes were altered by that.
  private static func add(
    _ changes: AdaptedChanges, to top: inout Pending, above lower: [Pending], altering below: Pending? = nil,
    coordinator: PersistentStoreCoordinator
  ) -> AdaptedChanges {
    if changes.set.isEmpty { return changes }
    let layouts = coordinator.layouts
    var adapted = changes
    let before = top.isUnused ? lower : [top] + lower
    let former = before.formerPartners(of: adapted.set, layouts)
    top.absorb(adapted.set, layouts: layouts)
    if !former.isEmpty {
      for change in ([top] + lower).parted(former, layouts) {
        adapted.altered.append(change.id)
        top.absorb(ChangeSet([change]), layouts: layouts)
      }
    }
    adapted.altered += top.clearReferences(
      toGone: adapted.set.deletedIDs, doomed: adapted.doomed, below: below, layouts: layouts)
    return adapted
  }

  /// Returns changes of a child without those of gone objects and references to them.
  private func adapted(
    _ set: ChangeSet, to layers: [Pending], _ coordinator: PersistentStoreCoordinator
  ) -> AdaptedChanges {
    if departed.isEmpty, !layers.contains(where: \.hasDeletes) { return AdaptedChanges(set) }
    return set.adapted(coordinator.layouts) {
      Self.isGone($0, layers, departed: departed, coordinator: coordinator)
    }
  }
}
