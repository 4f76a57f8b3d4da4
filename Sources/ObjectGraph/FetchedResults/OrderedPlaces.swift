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
