package import ObjectModel
import Synchronization

/// The changes that a context has not saved yet, where its children can read and add to them from any thread.
///
/// This is why nobody ever waits for a context that is busy: a child's fetch looks here, a child's save appends here,
/// and a context that is saving keeps what it is writing visible here until it is written.
package final class PendingChanges: Sendable {
  private struct State {
    var current = Pending()
    /// What a save is writing right now.
    var inFlight: Pending?
    /// Sets that children saved and that the context's objects have not taken notice of.
    var inbox: [ChangeSet] = []
    /// Counts the saves that moved changes on, so that a reader can tell whether one came between two looks.
    var moves = 0
  }

  private let state = Mutex(State())
  private let layouts: [RowLayout]

  init(layouts: [RowLayout]) { self.layouts = layouts }

  /// Takes changes that the context's own objects made.
  func append(_ set: ChangeSet) { state.withLock { $0.current.absorb(set, layouts: layouts) } }

  /// Takes what a child saved, for its parent's objects to notice later.
  ///
  /// - Returns: whether nobody had to be told of the inbox before.
  func adopt(_ sets: [ChangeSet]) -> Bool {
    state.withLock { state in
      let wasEmpty = state.inbox.isEmpty
      for set in sets { state.current.absorb(set, layouts: layouts) }
      state.inbox += sets
      return wasEmpty
    }
  }

  /// Whether a child has saved something that the context's objects have not taken notice of.
  var hasNews: Bool { state.withLock { !$0.inbox.isEmpty } }

  /// Empties the inbox.
  func takeInbox() -> [ChangeSet] {
    state.withLock { state in
      defer { state.inbox = [] }
      return state.inbox
    }
  }

  func change(of id: ManagedObjectID) -> RowChange? {
    state.withLock { $0.current.change(of: id) ?? $0.inFlight?.change(of: id) }
  }

  func remove(_ id: ManagedObjectID) { state.withLock { $0.current.remove(id) } }

  /// Forgets everything that is not being written already.
  func removeAll() {
    state.withLock { state in
      state.current = Pending()
      state.inbox = []
    }
  }

  /// Starts a save: what was pending is in flight now.
  func beginSave() -> [ChangeSet] {
    state.withLock { state in
      precondition(state.inFlight == nil, "a save is under way already")
      state.inFlight = state.current
      state.current = Pending()
      return state.inFlight?.sets() ?? []
    }
  }

  /// Ends a save that has brought everything to the next level.
  func commitSave() {
    state.withLock { state in
      state.inFlight = nil
      state.moves += 1
    }
  }

  /// Ends a save that failed: what was in flight is pending again, under what came since.
  func abortSave() {
    state.withLock { state in
      guard var pending = state.inFlight else { return }
      for set in state.current.sets() { pending.absorb(set, layouts: layouts) }
      state.current = pending
      state.inFlight = nil
    }
  }

  /// Whether anything waits for a save, or for the end of one.
  package var isEmpty: Bool { state.withLock { $0.current.isEmpty && $0.inFlight == nil } }

  /// The number of changed objects that no save has taken on yet, and the bytes they keep in memory.
  package var size: (objects: Int, bytes: Int) {
    state.withLock { ($0.current.objectCount, $0.current.byteCount) }
  }

  /// How often changes have moved on from here.
  var moves: Int { state.withLock { $0.moves } }

  /// Adds the changes of a family to an overlay in which nearer contexts have had their say.
  func addChanges(root: Entity, to overlay: inout Overlay) {
    state.withLock { state in
      state.current.forEachChange(root: root) { overlay.add($0) }
      state.inFlight?.forEachChange(root: root) { overlay.add($0) }
    }
  }

  /// All pending changes, those in flight excepted.
  func currentSets() -> [ChangeSet] { state.withLock { $0.current.sets() } }
}
