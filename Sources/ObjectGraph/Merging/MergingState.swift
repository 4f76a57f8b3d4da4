import Synchronization

/// What a context or a coordinator knows of merging: its policy, and who wants to merge what is saved into it.
final class MergingState: Sendable {
  private struct Follower: Sendable {
    weak var context: ManagedObjectContext?
  }

  private struct State {
    var policy: MergePolicy?
    var followers: [Follower] = []
    var isFollowing = false
  }

  private let state = Mutex(State())

  var policy: MergePolicy? {
    get { state.withLock { $0.policy } }
    set { state.withLock { $0.policy = newValue } }
  }

  /// Whether the context that this is of is among somebody's followers.
  var isFollowing: Bool {
    get { state.withLock { $0.isFollowing } }
    set { state.withLock { $0.isFollowing = newValue } }
  }

  func add(_ context: ManagedObjectContext) {
    state.withLock { state in
      state.followers.removeAll { $0.context == nil || $0.context === context }
      state.followers.append(Follower(context: context))
    }
  }

  func remove(_ context: ManagedObjectContext) {
    state.withLock { $0.followers.removeAll { $0.context == nil || $0.context === context } }
  }

  /// Lets the followers merge what others have committed to the store, and after them their own followers.
  func tell(_ change: PersistentStoreRemoteChange) {
    for context in contexts { context.mergeSoon(change) }
  }

  private var contexts: [ManagedObjectContext] {
    // Collected first: letting go of a context's last reference while the lock is held could come back here.
    state.withLock { $0.followers.isEmpty ? [] : $0.followers.compactMap(\.context) }
  }

  /// Lets the followers merge a save soon, each on its executor; its own context excepted.
  func tell(_ save: ContextDidSave) {
    for context in contexts where context !== save.context { context.mergeSoon(save) }
  }
}
