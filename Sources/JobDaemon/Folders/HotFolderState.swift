import Jobs
import SystemSupport

/// The form in which a file was seen; it changes when the file is written or replaced.
struct FileForm: Hashable, Sendable {
  let inode: UInt64
  let size: Int64
  /// Nanoseconds since 1970.
  let modificationTime: Int64

  init(inode: UInt64, size: Int64, modificationTime: Int64) {
    self.inode = inode
    self.size = size
    self.modificationTime = modificationTime
  }

  init(_ status: FileStatus) {
    self.init(inode: status.inode, size: status.size, modificationTime: status.modificationTime)
  }
}

/// A hot folder's state machine: which files are to be looked at and when, which are ready, and whose jobs are under way.
///
/// A value without threads, files or timers: sightings, looks and times go in; what to do next comes out. A file is
/// ready when nobody has it open for writing and it was unchanged for a while. It has one job at a time: what comes
/// meanwhile is looked at when that is over.
struct HotFolderState {
  typealias Moment = ContinuousClock.Instant

  /// The result of looking at a file.
  enum Look: Equatable {
    /// There is none, or none that becomes a job.
    case nothing
    /// Somebody has it open for writing.
    case open(FileForm)
    /// Nobody is known to have it open for writing.
    case closed(FileForm)
  }

  /// The next step of the work.
  enum Step: Equatable {
    /// Go through the whole folder, and sight every file.
    case scan
    /// Look at these files, and note the result of each.
    case look([InnerPath])
    /// Nothing until the next event, or until a moment.
    case rest(until: Moment?)
  }

  /// A hash of the content that a file had in a form.
  struct Digest: Equatable {
    let form: FileForm
    let value: UInt64
  }

  private struct Sighting {
    /// The moment of the next look; nil while one is under way.
    var due: Moment?
    /// The form at the last look, and since when it has that.
    var form: FileForm?
    var since: Moment
    /// Looks that found it open for writing, since it was last sighted.
    var openLooks = 0
    /// The hash of its content that an attempt to submit it has found.
    var digest: Digest?
  }

  private struct Expected {
    let path: InnerPath
    /// True if the file was sighted since.
    var isSightedAgain = false
  }

  /// The most files that are remembered to be looked at, and the most whose jobs are under way; of more, a scan finds
  /// them again later.
  static let capacity = 10_000
  /// The looks at a file that is open, at intervals that grow fourfold from 5 ms: the kernel reports a close a moment
  /// before it forgets the writer. After that only the next event counts.
  private static let openLookLimit = 6

  private let settle: Duration
  private var sightings: [InnerPath: Sighting] = [:]
  /// By the IDs of jobs.
  private var expected: [String: Expected] = [:]
  private var expectedIDs: [InnerPath: String] = [:]
  private var isScanDue = false
  /// True if files were sighted for which there was no room.
  private var isIncomplete = false
  private(set) var memory: HotFolderMemory
  /// Remembered files whose jobs failed in an earlier run: somebody may have put them back since then, or does so later.
  private var unconfirmed: Set<UInt64>

  init(settle: Duration, memory: HotFolderMemory = HotFolderMemory()) {
    self.settle = settle
    self.memory = memory
    unconfirmed = memory.failures
  }

  /// The number of files that are to be looked at once more.
  var waitingCount: Int { sightings.count }

  /// The number of files whose jobs are under way.
  var expectedCount: Int { expected.count }

  // MARK: Sightings

  /// Asks for a scan of the whole folder.
  mutating func rescan() { isScanDue = true }

  /// Notes that a file was seen: by an event, or by a scan.
  mutating func sight(_ path: InnerPath, at now: Moment) {
    if let id = expectedIDs[path] {
      expected[id]?.isSightedAgain = true
    } else if sightings[path] != nil {
      sightings[path]?.due = now
      sightings[path]?.openLooks = 0
    } else if sightings.count < Self.capacity {
      sightings[path] = Sighting(due: now, since: now)
    } else {
      isIncomplete = true
    }
  }

  /// Returns the next step, and takes it as begun.
  mutating func next(at now: Moment) -> Step {
    if isIncomplete && sightings.count <= Self.capacity / 2 && hasRoom {
      isIncomplete = false
      isScanDue = true
    }
    if isScanDue {
      isScanDue = false
      return .scan
    }
    guard hasRoom else { return .rest(until: nil) }
    let due = sightings.filter { $0.value.due.map { $0 <= now } ?? false }.map(\.key).sorted()
    if due.isEmpty { return .rest(until: sightings.values.compactMap(\.due).min()) }
    let paths = Array(due.prefix(Self.capacity - expected.count))
    for path in paths { sightings[path]?.due = nil }
    return .look(paths)
  }

  private var hasRoom: Bool { expected.count < Self.capacity }

  /// Notes what a look at a file found; returns its form if it is ready to be submitted.
  ///
  /// It is to be submitted at once, or noted by ``retry(_:at:)``, or else it is forgotten until it is sighted again.
  mutating func note(_ path: InnerPath, _ look: Look, at now: Moment) -> FileForm? {
    guard var sighting = sightings[path] else { return nil }
    switch look {
    case .nothing: sightings[path] = nil
    case .closed(let form) where isOver(path, form): sightings[path] = nil
    case .open(let form):
      sighting.form = form
      sighting.since = now
      sighting.due = now + .milliseconds(5 << (2 * sighting.openLooks))
      sighting.openLooks += 1
      sightings[path] = sighting.openLooks > Self.openLookLimit ? nil : sighting
    case .closed(let form):
      if sighting.form != form {
        sighting.form = form
        sighting.since = now
      }
      if sighting.since + settle <= now {
        sightings[path] = nil
        return form
      }
      sighting.due = sighting.since + settle
      sightings[path] = sighting
    }
    return nil
  }

  /// Has a file looked at again later that could not be submitted.
  ///
  /// - Parameter digest: that of its content, so that it need not be read again.
  mutating func retry(_ path: InnerPath, _ digest: Digest? = nil, at moment: Moment) {
    sightings[path] = Sighting(due: moment, since: moment, digest: digest)
  }

  /// The hash that ``retry(_:_:at:)`` has noted for a file; nil if it has none.
  func digest(of path: InnerPath) -> Digest? { sightings[path]?.digest }

  // MARK: Jobs

  /// Notes that a file's content is that of a job that was over; returns true if so.
  mutating func recognize(_ path: InnerPath, _ form: FileForm, digest: UInt64) -> Bool {
    guard memory.digest(of: path) == digest else { return false }
    memory.remember(path, form, digest: digest)
    return true
  }

  /// Notes that a job for a file is under way, or about to be.
  mutating func expect(_ id: String, for path: InnerPath) {
    expected[id] = Expected(path: path)
    expectedIDs[path] = id
  }

  /// Notes that a job is over, or was never begun.
  mutating func finish(_ id: String, at now: Moment) {
    guard let job = expected.removeValue(forKey: id) else { return }
    expectedIDs[job.path] = nil
    if job.isSightedAgain { sight(job.path, at: now) }
  }

  /// True if the file had a job in this form that is over, and nothing is to be done about it.
  func isOver(_ path: InnerPath, _ form: FileForm) -> Bool {
    memory.contains(path, form) && !unconfirmed.contains(HotFolderMemory.key(path))
  }

  /// Notes that nothing is to be done any more about a file whose job failed in an earlier run.
  mutating func confirm(_ path: InnerPath) { unconfirmed.remove(HotFolderMemory.key(path)) }

  /// Remembers a file that stays where it is though its job is over.
  mutating func remember(_ path: InnerPath, _ form: FileForm, digest: UInt64) {
    memory.remember(path, form, digest: digest)
    confirm(path)
  }

  /// Drops what is remembered of files that are not there any more, if that is worth it; returns true if so.
  mutating func forgetAll(but present: Set<UInt64>) -> Bool { memory.forgetAll(but: present) }
}

/// The files of a hot folder that stay where they are though their jobs are over, with the content they had then.
///
/// The IDs of jobs tell the same as long as the store has their records; this also tells it afterwards. On disk a line
/// for each file is added, of which the last one counts: hashes of the path, of the form and of the content.
struct HotFolderMemory {
  private struct Entry {
    let form: UInt64
    let digest: UInt64
  }

  /// The digest of files whose jobs failed: they are taken again also with the same content, when they are written or touched.
  static let failure: UInt64 = 0

  /// Above so many entries of files that are gone, the file on disk is written anew.
  private static let slack = 1_000

  private var entries: [UInt64: Entry] = [:]

  /// Nothing.
  init() {}

  /// Reads lines; one that a crash has left half written is skipped.
  init(text: String) {
    for line in text.split(separator: "\n") {
      let numbers = line.split(separator: " ").compactMap { $0.utf8.count == 16 ? UInt64($0, radix: 16) : nil }
      if numbers.count == 3 { entries[numbers[0]] = Entry(form: numbers[1], digest: numbers[2]) }
    }
  }

  /// The text with a line for each file.
  var text: String {
    entries.reduce(into: "") { $0 += Self.line($1.key, $1.value) }
  }

  /// The numbers of files whose jobs failed.
  var failures: Set<UInt64> { Set(entries.lazy.filter { $0.value.digest == Self.failure }.map(\.key)) }

  /// The line of one file; nil if it is not remembered.
  func line(of path: InnerPath) -> String? {
    let key = Self.key(path)
    return entries[key].map { Self.line(key, $0) }
  }

  /// True if the file had this form when it was last remembered.
  func contains(_ path: InnerPath, _ form: FileForm) -> Bool { entries[Self.key(path)]?.form == Self.hash(form) }

  /// The hash of the content that the file had when it was last remembered.
  func digest(of path: InnerPath) -> UInt64? { entries[Self.key(path)]?.digest }

  mutating func remember(_ path: InnerPath, _ form: FileForm, digest: UInt64) {
    entries[Self.key(path)] = Entry(form: Self.hash(form), digest: digest)
  }

  /// Drops the entries of other files, if there are many; an empty folder may only be a disk that is not there.
  mutating func forgetAll(but present: Set<UInt64>) -> Bool {
    if present.isEmpty || entries.count <= present.count + Self.slack { return false }
    entries = entries.filter { present.contains($0.key) }
    return true
  }

  /// The number by which a path is remembered.
  static func key(_ path: InnerPath) -> UInt64 {
    var hash = StableHash()
    hash.combine(path.bytes)
    return hash.value
  }

  private static func hash(_ form: FileForm) -> UInt64 {
    var hash = StableHash()
    hash.combine(Int64(bitPattern: form.inode))
    hash.combine(form.size)
    hash.combine(form.modificationTime)
    return hash.value
  }

  private static func line(_ key: UInt64, _ entry: Entry) -> String {
    [key, entry.form, entry.digest].map(StableHash.digits).joined(separator: " ") + "\n"
  }
}
