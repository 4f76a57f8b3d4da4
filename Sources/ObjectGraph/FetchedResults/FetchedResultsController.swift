import ObjectModel
import Synchronization

/// Keeps the result of a fetch up to date while objects of a context change, even unsaved, and reports the differences.
///
/// It follows the changes of its context: those of the context's own objects, what children save into it, and what is
/// merged into it. Events come on the context's executor. The controller may be held anywhere; it holds no objects, so
/// objects in the result live as long as they are used.
///
///     let controller = try FetchedResultsController(
///       FetchRequest<Person>(sortBy: [.ascending("department.name"), .ascending("age")]), context: main,
///       sectionNameKeyPath: "department.name")
///     try await main.perform { try controller.performFetch(in: $0) }
///     for await snapshot in controller.snapshots() { ... }
public final class FetchedResultsController<Object: ManagedObject>: Sendable {
  private struct State: Sendable {
    var entries: [ResultsEntry] = []
    var snapshot = FetchedResultsSnapshot()
    var hasFetched = false
    var observation: ContextObservation?
    var nextObserver = 0
    var observers: [Int: @Sendable (FetchedResultsEvent) -> Void] = [:]
    var snapshotObservers: [Int: @Sendable (FetchedResultsSnapshot) -> Void] = [:]
    var failure: (any Error)?
  }

  /// The context whose changes are followed.
  public let context: ManagedObjectContext
  /// The request, with its order.
  public let request: FetchRequest<Object>
  /// The property whose values make the sections; nil for one section.
  public let sectionNameKeyPath: String?
  private let reader: ResultsReader
  private let state = Mutex(State())

  /// Makes a controller without a result; call ``performFetch(in:)`` next.
  ///
  /// - Throws: ``FetchedResultsError`` if the request is not sorted, or not by the section key path first;
  ///   ``ConditionError`` for unknown names.
  public init(
    _ request: FetchRequest<Object>, context: ManagedObjectContext, sectionNameKeyPath: String? = nil
  ) throws {
    self.request = request
    self.context = context
    self.sectionNameKeyPath = sectionNameKeyPath
    reader = try ResultsReader(request, sectionNameKeyPath: sectionNameKeyPath, context.coordinator.model)
  }

  /// Fetches the result and follows changes from then on; fetching again reports the differences.
  public func performFetch(in context: isolated ManagedObjectContext) throws {
    check(context)
    context.enter()
    context.registry.processPendingChanges()
    context.reportChanges()
    let entries = try reader.fetch(context.registry)
    let isFirst = state.withLock { state in
      defer { state.hasFetched = true }
      return !state.hasFetched
    }
    if isFirst {
      let observation = context.observe { [weak self] in self?.handle($0) }
      state.withLock { state in
        state.observation = observation
        state.entries = entries
        state.snapshot = makeSnapshot(of: entries, updated: [])
      }
      let (observers, snapshot) = state.withLock { ($0.snapshotObservers, $0.snapshot) }
      for (_, observer) in observers.sorted(by: { $0.key < $1.key }) { observer(snapshot) }
    } else {
      adopt(entries)
    }
  }

  // MARK: The result

  /// The result as IDs; readable from any thread, at no cost.
  public var snapshot: FetchedResultsSnapshot { state.withLock { $0.snapshot } }

  /// The error that stopped the controller from following the last change, or nil; a successful ``performFetch(in:)``
  /// clears it.
  public var failure: (any Error)? { state.withLock { $0.failure } }

  /// Returns the objects in order, as faults that have their rows.
  public func fetchedObjects(in context: isolated ManagedObjectContext) -> [Object] {
    check(context)
    return state.withLock { $0.entries }.map { object($0, context) }
  }

  /// Returns the object at an index path, which must exist.
  public func object(at path: ResultsIndexPath, in context: isolated ManagedObjectContext) -> Object {
    check(context)
    guard let id = snapshot.objectID(at: path) else {
      preconditionFailure("the result has no object at \(path)")
    }
    return context.registry.object(with: id).typed(as: Object.self)
  }

  /// Returns the index path of an object in the result, or nil. Cost: a pass over the IDs.
  public func indexPath(for object: Object) -> ResultsIndexPath? { snapshot.indexPath(of: object.objectID) }

  // MARK: Following

  /// Calls a handler for each event, synchronously on the context's executor, until the observation is dropped.
  public func observe(_ handler: @escaping @Sendable (FetchedResultsEvent) -> Void) -> FetchedResultsObservation {
    let number = state.withLock { state in
      state.nextObserver += 1
      state.observers[state.nextObserver] = handler
      return state.nextObserver
    }
    return FetchedResultsObservation { [weak self] in self?.state.withLock { $0.observers[number] = nil } }
  }

  /// Returns the events as they happen; none is dropped, so they should be read.
  public func events() -> AsyncStream<FetchedResultsEvent> {
    AsyncStream { continuation in
      let observation = observe { continuation.yield($0) }
      continuation.onTermination = { _ in observation.cancel() }
    }
  }

  /// Returns the current result, if it has been fetched, and each later one; a slow reader gets only the latest.
  ///
  /// ``FetchedResultsSnapshot/difference(from:)`` computes the difference between two snapshots.
  public func snapshots() -> AsyncStream<FetchedResultsSnapshot> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let number = state.withLock { state in
        state.nextObserver += 1
        // Under the lock, so that no later snapshot overtakes this one.
        if state.hasFetched { continuation.yield(state.snapshot) }
        state.snapshotObservers[state.nextObserver] = { continuation.yield($0) }
        return state.nextObserver
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { $0.snapshotObservers[number] = nil }
      }
    }
  }
}

extension FetchedResultsController {
  private func check(_ context: ManagedObjectContext) {
    precondition(
      context === self.context,
      "the results controller follows the context \"\(self.context.name)\", not \"\(context.name)\"")
  }

  private func object(_ entry: ResultsEntry, _ context: isolated ManagedObjectContext) -> Object {
    let registry = context.registry
    let known = registry.registeredObject(for: entry.id)
    return (known ?? registry.object(with: entry.id, fetched: entry.row)).typed(as: Object.self)
  }

  /// Called on the context's executor.
  private func handle(_ event: ContextEvent) {
    switch event {
    case .didChange(let change) where change.isIncomplete: refetch()
    case .didChange(let change):
      let deleted = change.deletedObjectIDs
      follow(Set(change.insertedObjectIDs + change.updatedObjectIDs + deleted), deleted: Set(deleted))
    case .didReset: refetch()
    default: break
    }
  }

  private func follow(_ ids: Set<ManagedObjectID>, deleted: Set<ManagedObjectID>) {
    let changed = ids.filter(reader.concerns)
    if changed.isEmpty { return }
    let old = state.withLock { $0.entries }
    update { try reader.result(after: changed, deleted: deleted, of: old, $0) }
  }

  private func refetch() { update { try reader.fetch($0) } }

  private func update(_ read: @Sendable (ObjectRegistry) throws -> [ResultsEntry]) {
    do {
      adopt(try context.assumeIsolated { try read($0.registry) })
    } catch {
      state.withLock { $0.failure = error }
    }
  }

  /// Makes a result the current one and reports the differences.
  private func adopt(_ entries: [ResultsEntry]) {
    let layouts = context.coordinator.layouts
    let old = state.withLock { $0.entries }
    let change = ResultsChange(from: old, to: entries, isSectioned: sectionNameKeyPath != nil) {
      reader.isUpdated($0, $1, layouts: layouts)
    }
    let snapshot = makeSnapshot(of: entries, updated: change.updated)
    let (observers, snapshotObservers) = state.withLock { state in
      state.failure = nil
      return (state.observers, state.snapshotObservers)
    }
    let ordered = observers.sorted { $0.key < $1.key }.map(\.value)
    for event in change.events {
      if event == .didChange { show(entries, snapshot) }
      for observer in ordered { observer(event) }
    }
    if change.events.isEmpty { return show(entries, state.withLock { $0.snapshot }) }
    for (_, observer) in snapshotObservers.sorted(by: { $0.key < $1.key }) { observer(snapshot) }
  }

  private func show(_ entries: [ResultsEntry], _ snapshot: FetchedResultsSnapshot) {
    state.withLock { state in
      state.entries = entries
      state.snapshot = snapshot
    }
  }

  private func makeSnapshot(of entries: [ResultsEntry], updated: Set<ManagedObjectID>) -> FetchedResultsSnapshot {
    var sections: [FetchedResultsSnapshot.Section] = []
    var ids: [ManagedObjectID] = []
    for (index, entry) in entries.enumerated() {
      ids.append(entry.id)
      if index + 1 == entries.count || entries[index + 1].section != entry.section {
        sections.append(FetchedResultsSnapshot.Section(name: entry.section, objectIDs: ids))
        ids = []
      }
    }
    if sections.isEmpty && sectionNameKeyPath == nil {
      sections = [FetchedResultsSnapshot.Section(name: "", objectIDs: [])]
    }
    return FetchedResultsSnapshot(sections: sections, updatedObjectIDs: updated)
  }
}

/// An observation of a results controller that ends when it is cancelled or dropped.
public typealias FetchedResultsObservation = ContextObservation

/// The error of a request that a results controller can't use.
public struct FetchedResultsError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of the error; open, so that more can be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The code as text, which stays the same from release to release.
    public let rawValue: String
    /// A code by its text: one of those below, one of a later release, or one of your own.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The request has no sort descriptor, so its objects have no order.
    public static let unsorted = Code(rawValue: "unsorted")
    /// The first sort descriptor does not sort by the section key path.
    public static let sectionsUnsorted = Code(rawValue: "sections-unsorted")
  }

  /// The kind of the error.
  public var code: Code
  /// The error and its remedy, in words.
  public var message: String

  /// The message.
  public var description: String { message }
}
