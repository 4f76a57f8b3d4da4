import ObjectGraph
import Synchronization

/// A results controller, and a copy of its result that knows nothing but the controller's events.
final class ResultsReplay: Sendable {
  private struct Copy {
    var objects: [ManagedObjectID] = []
    /// What the change under way takes out, by old place, and puts in, by new place.
    var removed: Set<Int> = []
    var inserted: [Int: ManagedObjectID] = [:]
    var failure: String?
  }

  private let controller: FetchedResultsController<ManagedObject>
  private let copy = Mutex(Copy())
  private let observation: Mutex<FetchedResultsObservation?> = Mutex(nil)
  let query: Query

  init(_ request: FetchRequest<ManagedObject>, _ context: ManagedObjectContext, _ query: Query) throws {
    self.query = query
    let controller = try FetchedResultsController(request, context: context)
    self.controller = controller
    try context.performAndWait { try controller.performFetch(in: $0) }
    observation.withLock { $0 = controller.observe { [weak self] in self?.replay($0) } }
  }

  func fetch(_ context: isolated ManagedObjectContext) throws { try controller.performFetch(in: context) }

  private func replay(_ event: FetchedResultsEvent) {
    copy.withLock { copy in
      switch event {
      case .willChange, .section: break
      case .object(let change):
        if change.kind == .update { return }
        if let place = change.indexPath {
          guard copy.objects.indices.contains(place.item), copy.objects[place.item] == change.objectID else {
            copy.failure = "tells of \(change.objectID) at \(place), where it was not"
            return
          }
          copy.removed.insert(place.item)
        }
        if let place = change.newIndexPath { copy.inserted[place.item] = change.objectID }
      case .didChange:
        copy.objects = copy.objects.indices.filter { !copy.removed.contains($0) }.map { copy.objects[$0] }
        for (place, object) in copy.inserted.sorted(by: { $0.key < $1.key }) {
          if place > copy.objects.count { copy.failure = "tells of an insert at \(place) of \(copy.objects.count)" }
          copy.objects.insert(object, at: min(place, copy.objects.count))
        }
        copy.removed = []
        copy.inserted = [:]
      }
    }
  }

  /// The controller's result, and what contradicts it in the copy.
  func result() -> (objects: [ManagedObjectID], failure: String?) {
    let objects = controller.snapshot.objectIDs
    let failure =
      copy.withLock { copy in
        copy.failure ?? (copy.objects == objects ? nil : "tells of \(copy.objects), and has \(objects)")
      } ?? controller.failure.map { "fails: \($0)" }
    return (objects, failure)
  }
}

// MARK: - When a controller must agree with a fetch

extension Trial {
  /// Compares the results of controllers with their copies, and with the model where the context was told of everything.
  func follow(_ step: Step) throws {
    for (number, replay) in controllers.sorted(by: { $0.key < $1.key }) {
      if number == step.context {
        if step.actions.contains(where: { if case .fetchResults = $0 { true } else { false } }) {
          isBehind.remove(number)
        }
        if step.actions.contains(where: \.isSave), hasLostChanges(number) { isBehind.insert(number) }
      } else if step.actions.contains(where: \.changesView), !isTold(number, of: step) {
        isBehind.insert(number)
      }
      let (objects, failure) = replay.result()
      let place = program.name(number)
      if let failure { throw Mismatch("the results of \(place) (\(replay.query)): the controller \(failure)") }
      if isBehind.contains(number) { continue }
      let found = try objects.map(self.number)
      let expected = model.matches(replay.query, number)
      if Set(found) != Set(expected)
        || found.map({ model.sortKey($0, replay.query, number) })
          != expected.map({ model.sortKey($0, replay.query, number) })
      {
        throw Mismatch("the results of \(place) (\(replay.query)) are \(found), \(expected) in the model")
      }
    }
  }

  /// Whether the level above did not take what a context has just saved, because the object is gone there.
  private func hasLostChanges(_ number: Int) -> Bool {
    model.lastSaves[number]?.contains { $0.value.row != nil && model.fetched($0.key, number) == nil } ?? false
  }

  /// Whether a context hears of what a step of another one changed, if it can see it.
  private func isTold(_ number: Int, of step: Step) -> Bool {
    let ancestors = model.ancestors(of: number)
    guard step.actions.contains(where: \.isSave) else { return !ancestors.contains(step.context) }
    // A save is told where it was saved to, and below those who listen.
    let level = program.places[step.context].parent
    if let level, level == number { return true }
    if let level, !ancestors.contains(level) { return !ancestors.contains(step.context) }
    let listeners = [number] + ancestors
    let end = level.flatMap { listeners.firstIndex(of: $0) } ?? listeners.count
    let start = listeners.firstIndex(of: step.context) ?? end
    return listeners[..<min(start, end)].allSatisfy { program.places[$0].mergesAutomatically }
  }
}
