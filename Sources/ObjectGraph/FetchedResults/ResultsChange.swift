import ObjectModel

/// The difference between two results, as events.
struct ResultsChange {
  private struct Place {
    let path: ResultsIndexPath
    let position: Int
  }

  let events: [FetchedResultsEvent]
  let updated: Set<ManagedObjectID>

  /// - Parameters:
  ///   - isSectioned: true if sections are made of values; if not, there is always one.
  ///   - isUpdated: true if the values differ.
  init(
    from old: [ResultsEntry], to new: [ResultsEntry], isSectioned: Bool,
    isUpdated: (ResultsEntry, ResultsEntry) -> Bool
  ) {
    let (oldSections, oldPlaces) = Self.places(old, isSectioned)
    let (newSections, newPlaces) = Self.places(new, isSectioned)
    let updated = Self.updated(old, new, places: newPlaces, isUpdated: isUpdated)
    let moved = Self.moved(old, new, places: newPlaces, updated: updated)
    var events = Self.sectionEvents(oldSections, newSections)
    for entry in old.reversed() where newPlaces[entry.id] == nil {
      events.append(Self.event(.delete, entry.id, from: oldPlaces[entry.id]?.path, to: nil))
    }
    for entry in new where oldPlaces[entry.id] == nil {
      events.append(Self.event(.insert, entry.id, from: nil, to: newPlaces[entry.id]?.path))
    }
    for entry in new {
      guard let from = oldPlaces[entry.id]?.path, let to = newPlaces[entry.id]?.path else { continue }
      if moved.contains(entry.id) {
        events.append(Self.event(.move, entry.id, from: from, to: to))
      } else if updated.contains(entry.id) {
        events.append(Self.event(.update, entry.id, from: from, to: to))
      }
    }
    self.events = events.isEmpty ? [] : [.willChange] + events + [.didChange]
    self.updated = updated
  }

  private static func event(
    _ kind: FetchedResultsEvent.ObjectChange.Kind, _ id: ManagedObjectID, from old: ResultsIndexPath?,
    to new: ResultsIndexPath?
  ) -> FetchedResultsEvent {
    .object(FetchedResultsEvent.ObjectChange(kind: kind, objectID: id, indexPath: old, newIndexPath: new))
  }

  /// Returns the names of the sections, and the place of each object.
  private static func places(
    _ entries: [ResultsEntry], _ isSectioned: Bool
  ) -> ([String], [ManagedObjectID: Place]) {
    var sections = isSectioned ? [] : [""]
    var places: [ManagedObjectID: Place] = [:]
    places.reserveCapacity(entries.count)
    var item = 0
    for (position, entry) in entries.enumerated() {
      if sections.last != entry.section {
        sections.append(entry.section)
        item = 0
      }
      let path = ResultsIndexPath(section: sections.count - 1, item: item)
      places[entry.id] = Place(path: path, position: position)
      item += 1
    }
    return (sections, places)
  }

  private static func sectionEvents(_ old: [String], _ new: [String]) -> [FetchedResultsEvent] {
    let (before, after) = (Set(old), Set(new))
    let gone = old.enumerated().reversed().filter { !after.contains($0.element) }.map { index, name in
      FetchedResultsEvent.section(FetchedResultsEvent.SectionChange(kind: .delete, name: name, index: index))
    }
    let come = new.enumerated().filter { !before.contains($0.element) }.map { index, name in
      FetchedResultsEvent.section(FetchedResultsEvent.SectionChange(kind: .insert, name: name, index: index))
    }
    return gone + come
  }

  private static func updated(
    _ old: [ResultsEntry], _ new: [ResultsEntry], places newPlaces: [ManagedObjectID: Place],
    isUpdated: (ResultsEntry, ResultsEntry) -> Bool
  ) -> Set<ManagedObjectID> {
    var updated: Set<ManagedObjectID> = []
    for entry in old {
      if let place = newPlaces[entry.id], isUpdated(entry, new[place.position]) { updated.insert(entry.id) }
    }
    return updated
  }

  /// Returns the objects that changed places with others: as few as possible, preferring updated ones.
  private static func moved(
    _ old: [ResultsEntry], _ new: [ResultsEntry], places newPlaces: [ManagedObjectID: Place],
    updated: Set<ManagedObjectID>
  ) -> Set<ManagedObjectID> {
    var moved: Set<ManagedObjectID> = []
    var staying: [(id: ManagedObjectID, place: OrderedPlaces.Place)] = []
    for (index, entry) in old.enumerated() {
      guard let position = newPlaces[entry.id]?.position else { continue }
      if entry.section == new[position].section {
        staying.append((entry.id, (old: index, new: position)))
      } else {
        moved.insert(entry.id)
      }
    }
    // Unchanged objects keep their order, unless related objects changed it.
    let unchanged = staying.filter { !updated.contains($0.id) }
    var kept = OrderedPlaces(longestRunOf: unchanged.map(\.place))
    for entry in unchanged where !kept.contains(entry.place) { moved.insert(entry.id) }
    for entry in staying where updated.contains(entry.id) {
      if !kept.insert(entry.place) { moved.insert(entry.id) }
    }
    return moved
  }
}

/// Objects that keep their order from one result to the next, each with its old and new position.
struct OrderedPlaces {
  typealias Place = (old: Int, new: Int)

  /// Ascending in both places.
  private var places: [Place]

  /// Finds the longest run of places, given by ascending old position, whose new positions ascend too.
  ///
  /// Patience sorting: O(n log n), and a pass where all of them ascend.
  init(longestRunOf all: [Place]) {
    if zip(all, all.dropFirst()).allSatisfy({ $0.new < $1.new }) {
      places = all
      return
    }
    /// The index of the smallest end of a run, by the run's length.
    var ends: [Int] = []
    var previous = [Int](repeating: -1, count: all.count)
    for index in all.indices {
      let length = ends.firstPlace { all[$0].new >= all[index].new }
      if length > 0 { previous[index] = ends[length - 1] }
      if length == ends.count { ends.append(index) } else { ends[length] = index }
    }
    var run: [Place] = []
    var next = ends.last ?? -1
    while next >= 0 {
      run.append(all[next])
      next = previous[next]
    }
    places = run.reversed()
  }

  func contains(_ place: Place) -> Bool {
    let index = places.firstPlace { $0.old >= place.old }
    return index < places.count && places[index].old == place.old
  }

  /// Adds an object if it keeps its order among the present ones.
  ///
  /// - Returns: true if it does.
  mutating func insert(_ place: Place) -> Bool {
    let index = places.firstPlace { $0.old >= place.old }
    if index > 0, places[index - 1].new > place.new { return false }
    if index < places.count, places[index].new < place.new { return false }
    places.insert(place, at: index)
    return true
  }
}

extension Array {
  /// Returns the first index from `start` at which the predicate holds; the count if there is none. The predicate must
  /// hold for all later elements.
  func firstPlace(from start: Int = 0, where holds: (Element) throws -> Bool) rethrows -> Int {
    var low = start
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if try holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

/// An object in a result, with the values that determine its place.
struct ResultsEntry {
  let id: ManagedObjectID
  let row: Row
  let section: String
}
