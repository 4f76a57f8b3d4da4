import Fleet
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import SystemSupport
import Timetable

/// The known jobs, by their IDs.
struct KnownJobs {
  struct Entry: Sendable {
    let objectID: ManagedObjectID
    let state: JobState
    let failure: String?
    /// The facts that a repetition shares with it; nil for a record from before submitters were recorded.
    let origin: Origin?
    /// The file that it came in, and the spool of a fleet's host.
    var file: String?
    var spool: String?
    /// The rare keys of its specification, as the record has them.
    var options: String?

    /// The user whose job it is, if that was recorded.
    ///
    /// Not inlined: the optimizer of Swift 6.3.1 stops where it is ("Found ownership error").
    @inline(never) var submitter: Int64? { origin?.submitter }

    /// The rare keys of its specification; none if somebody has made them unreadable, which is told when the job starts.
    var keys: JobSpecification {
      var keys = JobSpecification(type: "")
      if let options { try? keys.readOptions(options) }
      return keys
    }

    /// True if a file's job is to be put in its place; false if it was by that very file.
    func isToBeReplaced(by job: JobSpecification) -> Bool {
      job.replaces && !job.replacements.contains { keys.replacements.contains($0) }
    }

    /// The job once a file's job is in its place.
    func replaced(by job: JobSpecification) -> Entry {
      var keys = job
      keys.replacements = self.keys.replacements + job.replacements
      return Entry(
        objectID: objectID, state: .available, failure: nil, origin: origin, file: file, spool: spool,
        options: keys.options)
    }
  }

  /// The facts that a repetition of a job has in common with it.
  struct Origin: Sendable, Equatable {
    let submitter: Int64
    let type: String
    /// As the job's record has them.
    let arguments: String
  }

  private var entries: [String: Entry] = [:]

  /// Looks jobs up in a context that sees everything in main.
  ///
  /// - Parameter scheduler: the schedule of all unfinished jobs; nil in a fleet, whose hosts know the records only.
  init(_ ids: [String], _ context: isolated ManagedObjectContext, scheduler: Scheduler?) throws {
    try read(ids, context)
    guard let scheduler else { return }
    // A job that is unfinished by its record and not in the schedule was released since: its record says how the
    // attempt ended.
    let late = entries.filter { entry in
      !entry.value.state.isFinal && !scheduler.read { schedule, _ in schedule.contains(entry.value.objectID) }
    }
    if late.isEmpty { return }
    context.refreshAllObjects()
    try read(Array(late.keys), context)
  }

  /// Looks up all jobs that files may have, and those that they wait for.
  init(of files: [CandidateJobs], _ context: isolated ManagedObjectContext, scheduler: Scheduler?) throws {
    var names: [String] = []
    for file in files { file.addNames(to: &names) }
    try self.init(names, context, scheduler: scheduler)
  }

  /// The jobs that a fleet has recorded.
  init(_ jobs: [KnownJob]) {
    for job in jobs {
      let origin = Origin(submitter: job.submitter, type: job.type, arguments: job.arguments)
      entries[job.name] = Entry(
        objectID: job.id, state: job.state, failure: job.failure, origin: job.submitter < 0 ? nil : origin,
        file: job.file, spool: job.spool, options: job.options)
    }
  }

  subscript(id: String) -> Entry? {
    get { entries[id] }
    set { entries[id] = newValue }
  }

  /// Checks that known jobs are the same ones: the same user's, of the same type and with the same arguments. Otherwise
  /// their submitter would be told that something was done that never was.
  ///
  /// One that replaces a known job may be another one, but not another user's; root and the daemon's user replace any.
  ///
  /// A job that came in the file itself was accepted before, of whatever type and with whatever arguments: an operator may
  /// have edited it since, or another file have replaced it.
  func check(_ jobs: [JobSpecification], of candidate: AdmissionCandidate) throws(AdmissionRefusal) {
    let submitter = candidate.file.submitter
    for job in jobs {
      guard let id = job.id else { continue }
      guard let entry = entries[id] else {
        // Or else anybody could have a firing that is to come recognized as one that was.
        if let firing = Firing(ofJob: id), submitter != Credentials.effectiveUser, !candidate.isTakenUp {
          throw .reserved(id, firing)
        }
        continue
      }
      guard let known = entry.origin else { continue }
      let mayReplaceAny = job.replaces && (submitter == 0 || submitter == Credentials.effectiveUser)
      if known.submitter != Int64(submitter) && !mayReplaceAny { throw .taken(id, "another user's job") }
      if job.replaces || mayBeOf(candidate, entry) { continue }
      if known.type != job.type {
        throw .taken(id, "a job of the type \"\(known.type)\", not \"\(job.type)\"", mayReplace: true)
      }
      let arguments = job.arguments.serialized()
      if known.arguments == arguments { continue }
      let earlier = (try? JSONValue(parsing: Array(known.arguments.utf8))) ?? .null
      let (here, there) = (UploadedInputs.withoutFolders(job.arguments), UploadedInputs.withoutFolders(earlier))
      if there.isEqual(to: here) { continue }
      throw .taken(id, "a job with other arguments (\(Self.difference(of: here, from: there)))", mayReplace: true)
    }
  }

  /// True if a known job may have come in this file.
  private func mayBeOf(_ candidate: AdmissionCandidate, _ entry: Entry) -> Bool {
    guard candidate.isTakenUp, let file = entry.file else { return candidate.isTakenUp }
    return candidate.isOver || [candidate.file.name.description, RestoredStore.noFile].contains(file)
      || !entry.keys.replacements.isEmpty
  }

  /// The first few values that differ, for people.
  private static func difference(of arguments: JSONValue, from earlier: JSONValue) -> String {
    let (here, there) = (arguments.object ?? [:], earlier.object ?? [:])
    let names = Set(here.keys).union(there.keys).filter { name in
      guard let one = here[name], let other = there[name] else { return true }
      return !one.isEqual(to: other)
    }
    let shown = names.sorted().prefix(3).map { name in
      let key = "\"\(displayName(name))\""
      guard let here = text(here[name]), let there = text(there[name]) else { return "\(key) differs" }
      return "\(key) is \(there) there and \(here) here"
    }
    return shown.joined(separator: ", ") + (names.count > 3 ? ", and more" : "")
  }

  /// Nil for what may be long.
  private static func text(_ value: JSONValue?) -> String? {
    switch value {
    case .string(let text)?: "\"\(displayName(text))\""
    case .object?, .array?: nil
    case let value?: value.serialized()
    case nil: "nothing"
    }
  }

  /// The IDs by which the new jobs of a file wait for others that nobody has submitted yet.
  func unknown(namedBy jobs: [JobSpecification], of file: AdmittedFile) -> [ManagedObjectID: [String]] {
    var unknown: [ManagedObjectID: [String]] = [:]
    for job in jobs where job.hasDependencies {
      guard let id = entries[job.id ?? ""]?.objectID, !file.repeated.contains(id) else { continue }
      let names = (job.after + job.afterAny).filter { entries[$0] == nil }
      if !names.isEmpty { unknown[id] = names }
    }
    return unknown
  }

  /// The known jobs that a job waits for.
  func objects(namedBy job: JobSpecification) -> [ManagedObjectID] {
    (job.after + job.afterAny).compactMap { entries[$0]?.objectID }
  }

  /// The blockers of a job.
  ///
  /// - Parameter replaced: the job itself, if it is known already.
  /// - Throws: the reason why it can never begin.
  func blockers(
    of job: JobSpecification, replacing replaced: ManagedObjectID? = nil, in schedule: Schedule
  ) throws(EarlyEnd) -> [NewJob.Blocker] {
    if !job.hasDependencies { return [] }
    var blockers: [NewJob.Blocker] = []
    for (names, mayFail) in [(job.after, false), (job.afterAny, true)] {
      for name in names {
        guard let other = entries[name] else {
          blockers.append(NewJob.Blocker(subject: .name(name), mayFail: mayFail))
          continue
        }
        if other.state.isFailure && other.state != .quarantined && !mayFail {
          throw EarlyEnd(reason: "the job \"\(name)\", which must be completed before it, is \(other.state)")
        }
        if !other.state.isFinal || (other.state == .quarantined && !mayFail) {
          blockers.append(NewJob.Blocker(subject: .job(other.objectID), mayFail: mayFail))
        }
      }
    }
    if let batch = job.afterBatch { blockers.append(NewJob.Blocker(subject: .batch(batch), mayFail: true)) }
    if let id = job.id, schedule.closesCircle(id, blockers, batch: job.batch, of: replaced) {
      throw EarlyEnd(reason: "it waits for a job that waits for it")
    }
    return blockers
  }

  private mutating func read(_ ids: [String], _ context: isolated ManagedObjectContext) throws {
    for start in stride(from: 0, to: ids.count, by: 1_000) {
      for job in try context.fetch(FetchRequest<Job>(ids: ids[start..<min(start + 1_000, ids.count)])) {
        let origin = Origin(submitter: job.submitter, type: job.type, arguments: job.arguments)
        entries[job.id] = Entry(
          objectID: job.objectID, state: job.currentState, failure: job.failure,
          origin: job.submitter < 0 ? nil : origin, file: job.file, spool: job.spool, options: job.options)
      }
    }
  }
}

/// The reason why a job is cancelled before it begins.
struct EarlyEnd: Error {
  let reason: String

  static func taken(unique key: String) -> EarlyEnd {
    EarlyEnd(reason: "another unfinished job has the unique key \"\(key)\"")
  }
}

extension AdmissionRefusal {
  fileprivate static func reserved(_ id: String, _ firing: Firing) -> AdmissionRefusal {
    let schedule = displayName(firing.schedule)
    return AdmissionRefusal(
      reason: "the ID \"\(displayName(id))\" is kept for the schedule \(schedule); choose another one, or have it fire "
        + "with `bobbinctl run \(schedule)`")
  }

  /// - Parameters:
  ///   - owner: who or what has the ID.
  ///   - mayReplace: true if the job may be replaced by the new one.
  fileprivate static func taken(_ id: String, _ owner: String, mayReplace: Bool = false) -> AdmissionRefusal {
    let cure = mayReplace ? ", or replace that job: \"replace\": true, or `bobbinctl submit --replace`" : ""
    return AdmissionRefusal(reason: "the ID \"\(displayName(id))\" is that of \(owner); choose another one\(cure)")
  }
}
