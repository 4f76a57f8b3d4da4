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

  var count: Int { names.count - taken }

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

  mutating func popFirst(_ most: Int) -> [Sighted] {
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

/// The times of further looks at files in `new/` that were open for writing.
///
/// The kernel reports a close a moment before it forgets that the file was open for writing, so a look right after the
/// event may come too early, and no other event follows. So a file is looked at six times more within seven seconds, at
/// intervals that grow fourfold; after that only the next event counts. A value without a clock.
struct UnfinishedFiles {
  /// The number of files that are remembered; beyond that the whole folder is scanned once more, later.
  static let limit = 4_096
  private static let attemptLimit = 6

  private var attempts: [FileName: Int] = [:]

  /// Notes that a file was found open; returns the milliseconds until the next look, or nil to wait for an event.
  mutating func delay(for name: FileName) -> Int? {
    let attempt = attempts[name, default: 0]
    guard attempt < Self.attemptLimit, attempt > 0 || attempts.count < Self.limit else {
      attempts[name] = nil
      return nil
    }
    attempts[name] = attempt + 1
    return 5 << (2 * attempt)
  }

  /// Forgets a file that has changed or was claimed: its looks begin anew.
  mutating func forget(_ name: FileName) { attempts[name] = nil }

  /// True if the next look at a file is the last: then an empty one is claimed as it is.
  func isLast(_ name: FileName) -> Bool { attempts[name] == Self.attemptLimit }

  var isFull: Bool { attempts.count >= Self.limit }
}

/// Files to be admitted in one save: bounded in what they hold, not only in their number.
struct IntakeBatch {
  private let jobLimit: Int
  private let byteLimit: Int
  private(set) var candidates: [AdmissionCandidate] = []
  private var jobs = 0
  private var bytes = 0

  init(jobLimit: Int, byteLimit: Int) {
    self.jobLimit = jobLimit
    self.byteLimit = byteLimit
  }

  /// True if the next file belongs in another batch.
  var isFull: Bool { jobs >= jobLimit || bytes >= byteLimit }

  /// Adds a claimed file; nil, from a claim that yielded none, changes nothing.
  mutating func add(_ candidate: AdmissionCandidate?) {
    guard let candidate else { return }
    candidates.append(candidate)
    jobs += candidate.contents.jobs.count
    bytes += candidate.file.data.count
  }
}

extension DirectoryScan {
  /// Reads so many names, or those that are left, to be claimed in their order; hidden ones are left out.
  func chunk(of limit: Int = 4_096) throws(SystemError) -> (names: [FileName], isLast: Bool) {
    var names: [FileName] = []
    while names.count < limit {
      guard let name = try next() else { return (names.sorted(), true) }
      if !name.isHidden { names.append(name) }
    }
    return (names.sorted(), false)
  }
}
