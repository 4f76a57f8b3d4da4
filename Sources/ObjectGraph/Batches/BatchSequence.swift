/// The slots of properties in the order in which rows set them, which is mostly the same in each row.
struct BatchSequence<Key> {
  private var known: [(key: Key, slot: Int)] = []
  private var place = 0
  /// Key paths that are made at run time could be others in each row.
  private static var limit: Int { 1_024 }

  /// Begins a row.
  mutating func restart() { place = 0 }

  /// The slot of a property; nil if it was not met yet.
  ///
  /// - Complexity: O(1) if the property follows the one before as it did in earlier rows, else O(n).
  @inline(__always)
  mutating func next(where isMeant: (Key) -> Bool) -> Int? {
    if place < known.count, isMeant(known[place].key) {
      place += 1
      return known[place - 1].slot
    }
    return find(isMeant)
  }

  private mutating func find(_ isMeant: (Key) -> Bool) -> Int? {
    guard let index = known.firstIndex(where: { isMeant($0.key) }) else { return nil }
    place = index + 1
    return known[index].slot
  }

  mutating func append(_ key: Key, _ slot: Int) {
    if known.count < Self.limit { known.append((key, slot)) }
    place = known.count
  }
}
