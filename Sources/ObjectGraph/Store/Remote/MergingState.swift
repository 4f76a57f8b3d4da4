import Synchronization

/// A context that merges what is saved into the level that it reads from.
protocol MergeFollower: AnyObject, Sendable {
  /// Queues the merge of a commit of others.
  func mergeSoon(_ change: PersistentStoreRemoteChange)
}

/// The merging state of a context or a coordinator: its policy, and the contexts that merge its saves.
final class MergingState: Sendable {
  private struct Follower: Sendable {
    weak var context: (any MergeFollower)?
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

  /// True if this state's context is a follower of another.
  var isFollowing: Bool {
    get { state.withLock { $0.isFollowing } }
    set { state.withLock { $0.isFollowing = newValue } }
  }

  func add(_ context: any MergeFollower) {
    state.withLock { state in
      state.followers.removeAll { $0.context == nil || $0.context === context }
      state.followers.append(Follower(context: context))
    }
  }

  func remove(_ context: any MergeFollower) {
    state.withLock { $0.followers.removeAll { $0.context == nil || $0.context === context } }
  }

  /// Makes the followers merge a remote change, and then their own followers.
  func tell(_ change: PersistentStoreRemoteChange) {
    for context in followers { context.mergeSoon(change) }
  }

  /// The contexts that merge what is saved into this one's level.
  var followers: [any MergeFollower] {
    // Collected first: releasing a context's last reference under the lock could call back here.
    state.withLock { $0.followers.isEmpty ? [] : $0.followers.compactMap(\.context) }
  }
}
