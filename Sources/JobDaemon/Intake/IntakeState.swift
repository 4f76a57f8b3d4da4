import Configuration
import SystemSupport

/// The intake's state machine: which names in `new/` are to be claimed, when `new/` is scanned, and what pauses that.
///
/// A value without threads, folders or timers: each event returns the actions that follow from it. The table of its
/// states is in Documentation/JobStates.md.
struct IntakeState {
  /// The reasons why nothing is claimed.
  enum Pause: Sendable {
    case storageFull, storeBusy, admissionFull, admissionBusy, databaseAway, tooManyJobs, unflushed, stopping
  }

  /// An action that the intake is to perform.
  enum Action: Equatable {
    /// Ask for the next step, on the intake's queue.
    case work
    /// Look at a name again after so many milliseconds.
    case lookAgain(FileName, after: Int)
    /// Scan again after a delay, unless such a scan is waiting already.
    case rescan(after: Duration)
    /// Read doubtful files in `cur/` again, on the intake's queue.
    case readDoubtful
    case logLostEvents(DirectoryEvent.RescanReason)
    case logTrouble
  }

  /// The next step of the work.
  enum Step: Equatable {
    /// Read the next chunk of `new/`; a new scan begins there, or the one under way continues.
    case scan(isNew: Bool)
    case claim([PendingNames.Sighted])
    /// Nothing until the next event.
    case rest
  }

  /// Files that are admitted in one save.
  static let batchSize = 200
  /// The delay before files that could not be claimed or admitted are tried again.
  static let retryDelay = Duration.seconds(1)
  /// The delay before a scan for files that were still being written, when there are too many to remember.
  private static let overflowDelay = Duration.seconds(5)
  /// The number of files that are logged as impossible to claim.
  private static let troubleLimit = 1_000

  var configuration: Configuration.Spool
  private(set) var pauses: Set<Pause> = []
  private var names = PendingNames()
  private var unfinished = UnfinishedFiles()
  private var isScanning = false
  private var isRecovered = false
  /// Names in `new/` whose namesakes are in `cur/`.
  private var blocked: Set<FileName> = []
  /// Files in `cur/` whose jobs are final, to be read again.
  private var doubtful: [FileName] = []
  /// Files that were logged as impossible to claim.
  private var troubles: Set<FileName> = []

  init(configuration: Configuration.Spool) { self.configuration = configuration }

  // MARK: Pauses

  /// The reason why submissions over the socket are refused; nil if they are not.
  var refusal: Pause? {
    if pauses.contains(.stopping) { return .stopping }
    if !pauses.isDisjoint(with: [.storageFull, .admissionFull]) { return .storageFull }
    if pauses.contains(.databaseAway) { return .databaseAway }
    return pauses.isDisjoint(with: [.storeBusy, .admissionBusy]) ? nil : .storeBusy
  }

  /// True if no file in `cur/` is still to be admitted: what an earlier run left is, and nothing is to be tried again.
  var hasAdmittedAll: Bool { isRecovered && pauses.isDisjoint(with: [.admissionFull, .admissionBusy]) }

  /// Notes that the files of an earlier run are admitted, as far as that need not be tried again.
  mutating func noteRecovered() { isRecovered = true }

  /// Begins a pause; false if it has begun already.
  @discardableResult mutating func pause(_ reason: Pause) -> Bool { pauses.insert(reason).inserted }

  /// Ends a pause; names were dropped meanwhile, so a scan follows.
  mutating func resume(_ reason: Pause) -> [Action] { pauses.remove(reason) == nil ? [] : rescan() }

  /// Takes back a pause that has kept nothing.
  mutating func cancelPause(_ reason: Pause) { pauses.remove(reason) }

  // MARK: Names

  /// The number of names that are known and not claimed; some thousands of many more while the folder is scanned.
  var nameCount: Int { names.count }

  /// Notes events of `new/`.
  mutating func notice(_ events: [DirectoryEvent]) -> [Action] {
    var actions: [Action] = []
    for event in events {
      switch event {
      case .entry(let name):
        unfinished.forget(name)
        names.add(name, .event)
      case .created(let name): names.add(name, .created)
      // It was taken, or taken back.
      case .deleted: break
      case .rescan(let reason):
        actions.append(.logLostEvents(reason))
        names.scanLater()
      }
    }
    // The scan at the end of a pause finds them all; until then they must not cost memory.
    if !pauses.isEmpty { names.forget() }
    return actions + [.work]
  }

  /// Asks for a scan of `new/`.
  mutating func rescan() -> [Action] {
    names.scanLater()
    return [.work]
  }

  /// Returns the next step, and takes it as begun.
  mutating func next() -> Step {
    guard pauses.isEmpty else { return .rest }
    if names.isEmpty {
      if isScanning { return .scan(isNew: false) }
      guard names.beginScan() else { return .rest }
      isScanning = true
      return .scan(isNew: true)
    }
    return .claim(names.popFirst(Self.batchSize))
  }

  /// True if the next step claims files, for which there must be room.
  var needsRoom: Bool { pauses.isEmpty && !names.isEmpty }

  /// Adds names from a scan; the last chunk ends it.
  mutating func add(scanned chunk: [FileName], isLast: Bool) {
    isScanning = !isLast
    names.add(scanned: chunk)
  }

  /// Ends a scan that has failed; it is tried again unless the error is lasting.
  mutating func endScan(isLasting: Bool) -> [Action] {
    isScanning = false
    return isLasting ? [] : [.rescan(after: Self.retryDelay)]
  }

  // MARK: Claims

  /// Puts back names for which there was no room in the batch.
  mutating func putBack(_ rest: some Collection<PendingNames.Sighted>) { names.putBack(rest) }

  /// Notes that a name was claimed, or is not there any more.
  mutating func forget(_ name: FileName) { unfinished.forget(name) }

  /// Notes a file that is still being written: its close raises an event, but see ``UnfinishedFiles``.
  mutating func noteUnfinished(_ name: FileName) -> [Action] {
    if let delay = unfinished.delay(for: name) { return [.lookAgain(name, after: delay)] }
    return unfinished.isFull ? [.rescan(after: Self.overflowDelay)] : []
  }

  /// Looks at an unfinished file again; at the last look an empty one is claimed as it is.
  mutating func lookAgain(at name: FileName) -> [Action] {
    names.add(name, unfinished.isLast(name) ? .event : .scan)
    return [.work]
  }

  /// Notes that a file can't be claimed, which is logged once: every scan of the folder may meet it.
  mutating func noteTrouble(_ name: FileName, isLasting: Bool) -> [Action] {
    let isNews = troubles.count < Self.troubleLimit && troubles.insert(name).inserted
    return (isNews ? [.logTrouble] : []) + (isLasting ? [] : [.rescan(after: Self.retryDelay)])
  }

  /// Notes that a file waits until its namesake has left `cur/`.
  mutating func block(_ name: FileName) {
    unfinished.forget(name)
    blocked.insert(name)
  }

  /// Notes that a name in `cur/` is free.
  mutating func noteFree(_ name: FileName) -> [Action] {
    blocked.isEmpty || blocked.remove(name) == nil ? [] : notice([.entry(name)])
  }

  // MARK: Doubtful files

  /// Notes a file in `cur/` that is to be read again.
  mutating func noteDoubtful(_ name: FileName) -> [Action] {
    doubtful.append(name)
    return doubtful.count == 1 ? [.readDoubtful] : []
  }

  /// Removes and returns the doubtful files.
  mutating func drainDoubtful() -> [FileName] {
    defer { doubtful = [] }
    return doubtful
  }
}
