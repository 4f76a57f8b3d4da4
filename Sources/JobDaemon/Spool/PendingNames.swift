import SystemSupport

/// Names in `new/` that are to be looked at, in order: bounded, whatever happens there.
///
/// Names that events tell of come here; when there are too many, they are forgotten and the folder is looked through. A
/// look through the folder goes on from chunk to chunk, so that a million files cost the memory of one.
struct PendingNames {
  /// A name with the way in which we know of it.
  struct Sighted: Sendable, Equatable {
    let name: FileName
    let sighting: Spool.Sighting
  }

  private let limit: Int
  private var names: [Sighted] = []
  /// How many at the beginning of `names` are taken.
  private var taken = 0
  private(set) var needsScan = false

  init(limit: Int = 16_384) { self.limit = limit }

  private var count: Int { names.count - taken }

  var isEmpty: Bool { count == 0 }

  /// Adds a name that an event told of; if there is no room, a scan will find it.
  mutating func add(_ name: FileName, _ sighting: Spool.Sighting) {
    if count >= limit { return scanLater() }
    names.append(Sighted(name: name, sighting: sighting))
  }

  /// Has the folder looked through once nothing else is pending.
  mutating func scanLater() { needsScan = true }

  /// Forgets all names; a scan finds them again.
  mutating func forget() {
    if !isEmpty { needsScan = true }
    names = []
    taken = 0
  }

  /// Returns whether the folder is to be looked through, which is then taken as done.
  mutating func beginScan() -> Bool {
    defer { needsScan = false }
    return needsScan
  }

  /// Adds a chunk of names that a scan has found.
  mutating func add(scanned chunk: [FileName]) {
    names += chunk.map { Sighted(name: $0, sighting: .scan) }
  }

  mutating func takeFirst(_ most: Int) -> [Sighted] {
    let end = min(taken + most, names.count)
    let first = Array(names[taken..<end])
    taken = end
    if taken == names.count {
      names = []
      taken = 0
    } else if taken >= limit {
      names.removeFirst(taken)
      taken = 0
    }
    return first
  }

  /// Puts back, in front, what was taken and not looked at.
  mutating func putBack(_ rest: some Collection<Sighted>) {
    if rest.isEmpty { return }
    names.replaceSubrange(0..<taken, with: rest)
    taken = 0
  }
}
