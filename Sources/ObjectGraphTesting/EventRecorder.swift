public import ObjectGraph
import Synchronization

/// A recorder of the events of a context, each with whether it came on the context's executor.
///
/// May be asked from any thread.
public final class EventRecorder: Sendable {
  private final class Events: Sendable {
    let recorded = Mutex<[(event: ContextEvent, cameOnExecutor: Bool)]>([])
  }

  private let events: Events
  private let observation: ContextObservation

  /// Records from now on; the context is not kept.
  public init(_ context: ManagedObjectContext) {
    let events = Events()
    let executor = context.executor
    self.events = events
    observation = context.observe { event in
      let isCurrent = executor.isCurrent
      events.recorded.withLock { $0.append((event, isCurrent)) }
    }
  }

  /// The events in order.
  public var all: [ContextEvent] { events.recorded.withLock { $0.map(\.event) } }

  /// True if each event came on the context's executor.
  public var allCameOnExecutor: Bool { events.recorded.withLock { $0.allSatisfy(\.cameOnExecutor) } }

  /// The saves, in order.
  public var didSaves: [ContextDidSave] { all.compactMap { if case .didSave(let save) = $0 { save } else { nil } } }

  /// The changes, in order.
  public var didChanges: [ObjectsDidChange] {
    all.compactMap { if case .didChange(let change) = $0 { change } else { nil } }
  }

  /// The names of the events' cases, in order: `["willSave", "didSave"]`.
  public var kinds: [String] {
    all.map { event in
      switch event {
      case .willSave: "willSave"
      case .didSave: "didSave"
      case .didSaveObjectIDs: "didSaveObjectIDs"
      case .didChange: "didChange"
      case .didReset: "didReset"
      }
    }
  }
}
