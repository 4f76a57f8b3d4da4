import SystemSupport

/// Names in `new/` to be claimed, in order: bounded, whatever happens there.
///
/// Names from events come here; when there are too many, they are dropped and the folder is scanned. A scan continues
/// chunk by chunk, so that a million files cost the memory of one chunk.
struct PendingNames {
  /// A name, and how it was sighted.
  struct Sighted: Sendable, Equatable {
    let name: FileName
    let sighting: Spool.Sighting
  }

  private let limit: Int
  private var names: [Sighted] = []
  /// The number of names at the beginning that were popped.
  private var taken = 0
  private(set) var needsScan = false

  init(limit: Int = 16_384) { self.limit = limit }

  private var count: Int { names.count - taken }

  var isEmpty: Bool { count == 0 }

  /// Adds a name from an event; if there is no room, a scan will find it.
  mutating func add(_ name: FileName, _ sighting: Spool.Sighting) {
    if count >= limit { return scanLater() }
    names.append(Sighted(name: name, sighting: sighting))
  }

  /// Asks for a scan of the folder once nothing else is pending.
  mutating func scanLater() { needsScan = true }

  /// Drops all names; a scan finds them again.
  mutating func forget() {
    if !isEmpty { needsScan = true }
    names = []
    taken = 0
  }

  /// Returns true if the folder is to be scanned, and takes the scan as done.
  mutating func beginScan() -> Bool {
    defer { needsScan = false }
    return needsScan
  }

  /// Adds a chunk of names from a scan.
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

  /// Puts back, in front, names that were popped and not claimed.
  mutating func putBack(_ rest: some Collection<Sighted>) {
    if rest.isEmpty { return }
    names.replaceSubrange(0..<taken, with: rest)
    taken = 0
  }
}
