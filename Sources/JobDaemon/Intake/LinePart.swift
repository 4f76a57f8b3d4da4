import JobSchedule
import Jobs
import ObjectGraph

/// Some lines of a file with one job on each, which are admitted in one save; other files are admitted between two parts.
struct LinePart {
  private static let jobLimit = 500
  private static let byteLimit = 1 << 20

  private(set) var jobs: [JobSpecification] = []
  /// The numbers of their lines.
  private(set) var lines: [Int] = []
  /// The number of jobs in the parts before it.
  private var jobsBefore = 0
  private var bytes = 0

  /// True if the next job belongs in another part.
  var isFull: Bool { jobs.count >= Self.jobLimit || bytes >= Self.byteLimit }

  /// The part behind this one, with no jobs yet.
  var next: LinePart {
    var next = LinePart()
    next.jobsBefore = jobsBefore + jobs.count
    return next
  }

  mutating func add(_ job: JobSpecification, line: Int, bytes count: Int) {
    jobs.append(job)
    lines.append(line)
    bytes += count
  }

  func candidate(of file: ClaimedFile, _ live: LiveFile) -> AdmissionCandidate {
    var candidate = AdmissionCandidate(file: file, contents: JobFile(lines: jobs))
    candidate.live = live
    candidate.part = AdmissionCandidate.Part(jobsBefore: jobsBefore)
    return candidate
  }
}

extension AdmissionCandidate {
  /// A part of a file, whose parts are admitted one after the other.
  struct Part: Sendable {
    /// The number of jobs in the parts before it.
    let jobsBefore: Int
    /// True if all jobs of the file were admitted before: those that are not known were removed since.
    var wasAdmitted = false
  }

  /// One of its jobs, to be admitted by itself.
  func job(at index: Int) -> AdmissionCandidate {
    var candidate = AdmissionCandidate(file: file, contents: JobFile(lines: [contents.jobs[index]]))
    candidate.isTakenUp = isTakenUp
    candidate.live = live
    candidate.part = part.map { Part(jobsBefore: $0.jobsBefore + index, wasAdmitted: $0.wasAdmitted) }
    return candidate
  }
}

/// The jobs of an admitted file with one job on each line.
struct AdmittedLines: Sendable {
  /// The jobs that are listed of a file, unless all are needed.
  private static let listLimit = 1_000

  private let keepsAll: Bool
  /// The number of jobs.
  private(set) var count = 0
  /// The number of those among them that were known before, and are not run again.
  private(set) var repeatedCount = 0
  /// The first jobs, or all.
  private(set) var objectIDs: [ManagedObjectID] = []
  /// Those among the first that were known before.
  private(set) var repeated: Set<ManagedObjectID> = []
  /// The IDs by which the first wait for others that nobody has submitted yet.
  private(set) var unknown: [ManagedObjectID: [String]] = [:]
  /// Other files' unfinished jobs, as long as the file has none of its own: it is released with them.
  private(set) var duplicatesOfLive: [ManagedObjectID] = []
  /// The failures of earlier runs of its jobs, which count likewise.
  private(set) var earlierFailures = FailureList()
  /// True if it has jobs of its own, which release it.
  var isLive = false {
    didSet { if isLive { duplicatesOfLive = [] } }
  }

  /// The number of transactions in which they were admitted.
  var transactionCount = 0
  /// True if the file's copy told up to where their admission came.
  var hasCopy = false

  /// - Parameter keepsAll: true to list all jobs.
  init(keepsAll: Bool) { self.keepsAll = keepsAll }

  /// Adds a part.
  mutating func add(_ part: AdmittedFile) {
    count += part.ids.count
    repeatedCount += part.repeated.count
    if !part.jobs.isEmpty || !part.finished.isEmpty { isLive = true }
    if !isLive {
      duplicatesOfLive += part.duplicatesOfLive
      for (order, text) in part.earlierFailures.enumerated() { earlierFailures.add(text, order: Int64(count + order)) }
    }
    if unknown.count < Self.listLimit { unknown.merge(part.unknown) { first, _ in first } }
    if objectIDs.count < Self.listLimit {
      let first = part.objectIDs.prefix(Self.listLimit - objectIDs.count)
      repeated.formUnion(part.repeated.intersection(first))
    }
    objectIDs += keepsAll ? part.objectIDs[...] : part.objectIDs.prefix(max(0, Self.listLimit - objectIDs.count))
  }

  /// The jobs that are listed.
  var first: ArraySlice<ManagedObjectID> { objectIDs.prefix(Self.listLimit) }
}

extension AdmittedFile {
  /// A file of which no job is to be run: it is released at once, or with those jobs of others that it repeats.
  init(of order: LineFileAdmission.Order, _ duplicatesOfLive: [ManagedObjectID] = [], failures: FailureList) {
    self.init(file: LiveFile(name: order.file.name, jobCount: 0), isTakenUp: order.isTakenUp, ids: [])
    self.duplicatesOfLive = duplicatesOfLive
    earlierFailures = failures.texts
  }
}
