import ObjectModel
import Synchronization

/// A state of the store that a context reads, whatever is saved meanwhile.
///
///     try context.setQueryGeneration(from: .current)
///     try other.setQueryGeneration(from: context.queryGeneration)  // the same state in both
///
/// The state is kept as long as a context reads it or somebody holds its token.
public struct QueryGeneration: Sendable, Hashable, CustomStringConvertible {
  enum Kind: Sendable {
    case current
    case kept(any StoreSnapshot, ordinal: UInt32)
  }

  let kind: Kind

  /// The state that the store has when the context reads next.
  public static let current = QueryGeneration(kind: .current)

  /// Returns true if both mean the same state.
  public static func == (left: Self, right: Self) -> Bool { left.identity == right.identity }
  /// The hash of what tells the state from others.
  public func hash(into hasher: inout Hasher) { hasher.combine(identity) }

  /// The word "current", or the number of the kept state.
  public var description: String {
    identity.map { "query generation \(UInt(bitPattern: $0.hashValue))" } ?? "current query generation"
  }

  private var identity: ObjectIdentifier? {
    if case .kept(let snapshot, _) = kind { ObjectIdentifier(snapshot) } else { nil }
  }
}

/// The state of the store that a root context and those below it read; may be asked from any thread.
///
/// A context that is pinned neither takes rows from the row cache, which may be newer, nor puts any there, which may be
/// older. What a fetch gives an object is marked with the number of the pin, so that it doesn't outlive that.
final class QueryPin: Sendable {
  private enum State: Sendable {
    case unpinned
    /// The next read takes a snapshot.
    case waiting
    case pinned(any StoreSnapshot)
  }

  /// A snapshot to read, and the number that marks what was read in it.
  struct Pinned {
    let snapshot: any StoreSnapshot
    let number: UInt32
  }

  private let state = Mutex<(state: State, number: UInt32)>((.unpinned, firstNumber))
  private let isActiveFlag = Atomic(false)
  /// More than there ever are saves, with whose number rows that were fetched without a pin are marked.
  private static let firstNumber: UInt32 = 1 << 31

  /// True if there is a pin, now or with the next read. Cost: a read of memory.
  var isActive: Bool { isActiveFlag.load(ordering: .acquiring) }

  /// The snapshot to read, taken now if that is due; nil if the newest state is to be read.
  func current(of store: any PersistentStore) throws -> Pinned? {
    while isActive {
      let (state, number) = state.withLock { $0 }
      switch state {
      case .unpinned: return nil
      case .pinned(let snapshot): return Pinned(snapshot: snapshot, number: number)
      case .waiting:
        // It is taken without the lock, since that is I/O, and is worth nothing if the pin has moved meanwhile.
        guard let snapshot = try store.snapshot() else { return nil }
        self.state.withLock { if $0.number == number, case .waiting = $0.state { $0.state = .pinned(snapshot) } }
      }
    }
    return nil
  }

  /// The number of the snapshot that is read; nil while there is none.
  var number: UInt32? {
    if !isActive { return nil }
    return state.withLock { if case .pinned = $0.state { $0.number } else { nil } }
  }

  /// Returns the state that the next read is to see; nil if there is no pin.
  func generation(ordinal: UInt32) -> QueryGeneration? {
    state.withLock {
      switch $0.state {
      case .unpinned: nil
      case .waiting: .current
      case .pinned(let snapshot): QueryGeneration(kind: .kept(snapshot, ordinal: ordinal))
      }
    }
  }

  func set(_ generation: QueryGeneration?) {
    switch generation?.kind {
    case nil: move { _ in .unpinned }
    case .current: move { _ in .waiting }
    case .kept(let snapshot, _): move { _ in .pinned(snapshot) }
    }
  }

  /// Lets go of a state that is read: the next read is of the state that the store has then.
  func advance() {
    if isActive { move { if case .unpinned = $0 { .unpinned } else { .waiting } } }
  }

  private func move(_ change: (State) -> State) {
    // What was held is let go of without the lock, which ends a transaction.
    let former = state.withLock { state in
      let former = state.state
      state.state = change(former)
      state.number = state.number == .max ? Self.firstNumber : state.number + 1
      if case .unpinned = state.state {
        isActiveFlag.store(false, ordering: .releasing)
      } else {
        isActiveFlag.store(true, ordering: .releasing)
      }
      return former
    }
    withExtendedLifetime(former) {}
  }
}
