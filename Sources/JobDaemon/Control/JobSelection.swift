import Fleet
import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph

/// A selection of jobs, as lists and commands name it; nil, or no state, matches any.
struct JobSelection: Sendable, Equatable {
  /// Unfinished jobs that are looked for at a time: those of a fleet come in one answer.
  private static let pageSize = 10_000
  /// Final jobs that are read at a time.
  private static let finalPageSize = 2_000

  var states: Set<JobState> = []
  var queue: String?
  var type: String?
  var batch: String?
  var record = RecordTest()

  /// A job that was selected.
  struct Found: Sendable {
    let objectID: ManagedObjectID
    let state: JobState
  }

  /// True if unfinished jobs may be selected.
  var hasUnfinished: Bool { states.isEmpty || states.contains { !$0.isFinal } }

  var finalStates: [JobState] { JobState.allCases.filter { $0.isFinal && states.contains($0) } }

  /// The part of it that the schedule can tell.
  func selection(_ page: Schedule.Page) -> Order.Selection {
    Order.Selection(queue: queue, type: type, batch: batch, states: states, page: page)
  }

  /// True if a job's record meets all that is asked for, but for its state.
  func matches(_ job: Job) -> Bool {
    (queue == nil || job.queue == queue) && (type == nil || job.type == type) && (batch == nil || job.batch == batch)
      && record.matches(job)
  }
}

/// The conditions on what only a job's record tells.
struct RecordTest: Sendable, Equatable {
  /// The user who submitted it.
  var submitter: UInt32?
  /// The times between which it was accepted, the first included.
  var since: Date?
  var until: Date?
  /// The name of its file, or the one under which a client has submitted that.
  var file: String?
  /// A part of its ID, of its file's name or of its error, whatever the case.
  var text: String? { didSet { folded = text.map { Array($0.lowercased().utf8) } } }
  /// The values of some of its arguments, by their names: texts, or what JSON writes for others.
  var arguments: [String: String] = [:]
  private var folded: [UInt8]?

  init(submitter: UInt32? = nil, since: Date? = nil, until: Date? = nil) {
    (self.submitter, self.since, self.until) = (submitter, since, until)
  }

  func matches(_ job: Job) -> Bool {
    if let submitter, job.submitter != Int64(submitter) { return false }
    if since != nil || until != nil {
      guard let created = job.createdAt else { return false }
      if let since, created < since { return false }
      if let until, created >= until { return false }
    }
    if let file, job.file.map({ Submitter.isFile($0, named: file) }) != true { return false }
    if let folded, ![job.id, job.file, job.failure].contains(where: { $0?.contains(folded: folded) ?? false }) {
      return false
    }
    return arguments.isEmpty || matches(arguments: job.arguments)
  }

  private func matches(arguments text: String) -> Bool {
    // Most texts don't have the words at all, and need not be parsed.
    guard arguments.keys.allSatisfy({ text.utf8.contains(bytes: Array($0.utf8)) }) else { return false }
    // A row that somebody edited may have any text.
    let values = try? JSONValue(parsing: Array(text.utf8), dialect: .json)
    return arguments.allSatisfy { name, wanted in
      guard let value = values?[name] else { return false }
      return value.string.map { $0 == wanted } ?? (value.serialized() == wanted)
    }
  }

  /// The condition that a store can test; texts and arguments are beyond it.
  var condition: Condition? {
    get throws {
      var conditions: [Condition] = []
      if let submitter { conditions.append(try Condition(format: "submitter == %@", Int64(submitter))) }
      if let since { conditions.append(try Condition(format: "createdAt >= %@", since)) }
      if let until { conditions.append(try Condition(format: "createdAt < %@", until)) }
      if let file { conditions.append(try Submitter.condition(onFileNamed: file)) }
      return conditions.isEmpty ? nil : .and(conditions)
    }
  }

  /// True if objects have to be looked at beside what the condition tells.
  var needsObjects: Bool { text != nil || !arguments.isEmpty }
}

extension String {
  /// True if this contains a text that is given in lower case, whatever the case here.
  fileprivate func contains(folded bytes: [UInt8]) -> Bool { lowercased().utf8.contains(bytes: bytes) }
}

extension String.UTF8View {
  fileprivate func contains(bytes: [UInt8]) -> Bool {
    guard let first = bytes.first else { return true }
    return withContiguousStorageIfAvailable { $0.contains(bytes, beginningWith: first) }
      ?? Array(self).withUnsafeBufferPointer { $0.contains(bytes, beginningWith: first) }
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate func contains(_ bytes: [UInt8], beginningWith first: UInt8) -> Bool {
    guard count >= bytes.count else { return false }
    return (0...count - bytes.count).contains { start in
      self[start] == first && self[start..<start + bytes.count].elementsEqual(bytes)
    }
  }
}

/// All jobs of a selection, for commands.
extension JobSelection {
  /// A place among the jobs of a selection: unfinished ones come first, by their keys, then final ones, by their states.
  enum Place: Sendable {
    /// Behind an unfinished job's key. Next: unfinished, final.
    case unfinished(behind: Int64)
    /// Behind a job in a final state; nil for the first one. Next: the same state, another final one.
    case final(JobState, behind: JobPosition?)
  }

  /// The place of the first job: unfinished ones are meant, too, where no state is asked for.
  var start: Place? { hasUnfinished ? .unfinished(behind: .min) : finalStart(behind: nil) }

  /// Some of the jobs, and the place behind which the next ones are; nil if there are no more.
  ///
  /// Cost: bounded where an index leads to the jobs; else a pass over those in a state.
  func next(
    from place: Place, _ unfinished: UnfinishedJobs, _ context: isolated ManagedObjectContext
  ) throws -> (found: [Found], next: Place?) {
    switch place {
    case .unfinished(let key):
      let page = try unfinished.find(selection(.following(key, limit: Self.pageSize))).jobs
        .map { Found(objectID: $0.id, state: $0.state) }
      let found = record == RecordTest() ? page : try tested(page, in: context)
      return (found, page.last.map { .unfinished(behind: $0.objectID.key) } ?? finalStart(behind: nil))
    case .final(let state, let position):
      let order = JobOrder.oldest
      let conditions = [try condition(state), try position.map { try order.condition(behind: $0) }].compactMap(\.self)
      let jobs = try context.fetch(
        FetchRequest<Job>(.and(conditions), sortBy: order.sorts, limit: Self.finalPageSize))
      let found = jobs.filter(record.matches).map { Found(objectID: $0.objectID, state: state) }
      let last = jobs.count < Self.finalPageSize ? nil : jobs.last.map(JobPosition.init)
      context.reset()
      return (found, last.map { .final(state, behind: $0) } ?? finalStart(behind: state))
    }
  }

  private func finalStart(behind state: JobState?) -> Place? {
    let rest = state.map { state in finalStates.drop { $0 != state }.dropFirst() } ?? finalStates[...]
    return rest.first.map { .final($0, behind: nil) }
  }

  /// The jobs among these that the selection matches.
  private func tested(_ jobs: [Found], in context: isolated ManagedObjectContext) throws -> [Found] {
    var found: [Found] = []
    for start in stride(from: 0, to: jobs.count, by: 500) {
      try Task.checkCancellation()
      let part = jobs[start..<min(start + 500, jobs.count)]
      let ids = Set(
        try context.fetch(FetchRequest<Job>(objectIDs: part.map(\.objectID))).filter(matches).map(\.objectID))
      found += part.filter { ids.contains($0.objectID) }
      context.reset()
    }
    return found
  }

  /// The condition on a job's record, with a state as it was last saved.
  fileprivate func condition(_ state: JobState?) throws -> Condition? {
    var conditions: [Condition] = []
    if let batch { conditions.append(try Condition(#Predicate<Job> { $0.batch == batch })) }
    if let type { conditions.append(try Condition(#Predicate<Job> { $0.type == type })) }
    if let queue { conditions.append(try Condition(#Predicate<Job> { $0.queue == queue })) }
    if let name = state?.rawValue { conditions.append(try Condition(#Predicate<Job> { $0.state == name })) }
    if let recorded = try record.condition { conditions.append(recorded) }
    return conditions.isEmpty ? nil : .and(conditions)
  }
}

/// The number of jobs by state.
struct JobCounts: Sendable, Equatable {
  var numbers: [JobState: Int] = [:]
  /// True if there was no time to count all of them.
  var isAtLeast = false

  var byName: [String: Int] { Dictionary(uniqueKeysWithValues: numbers.map { ($0.key.rawValue, $0.value) }) }
}

extension JobSelection {
  /// The number of jobs by state, whichever states are selected: what is kept, and what is counted until the task is
  /// cancelled.
  func counts(_ context: isolated ManagedObjectContext, _ unfinished: UnfinishedJobs) throws -> JobCounts {
    var counts = JobCounts()
    do { try count(into: &counts.numbers, context, unfinished) } catch is CancellationError { counts.isAtLeast = true }
    counts.numbers = counts.numbers.filter { $0.value > 0 }
    return counts
  }

  /// Counts first what costs least.
  private func count(
    into counts: inout [JobState: Int], _ context: isolated ManagedObjectContext, _ unfinished: UnfinishedJobs
  ) throws {
    var all = self
    if record == RecordTest() {
      for state in JobState.allCases where !state.isFinal {
        all.states = [state]
        counts[state] = try unfinished.candidates(of: all.selection(.newest(offset: 0, limit: 0)), limit: 0).total
      }
    }
    let final = JobState.allCases.filter(\.isFinal)
    if !record.needsObjects {
      for state in final {
        counts[state] = try context.countUnlessCancelled(FetchRequest<Job>(try condition(state)))
      }
    }
    if record == RecordTest() { return }
    all.states = []
    // A selection without states has no final ones.
    if record.needsObjects { all.states = Set(JobState.allCases) }
    var next = all.start
    while let place = next {
      try Task.checkCancellation()
      let page = try all.next(from: place, unfinished, context)
      for job in page.found { counts[job.state, default: 0] += 1 }
      next = page.next
    }
  }
}
