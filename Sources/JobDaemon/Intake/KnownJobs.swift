import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import SystemSupport

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

  subscript(id: String) -> Entry? {
    get { entries[id] }
    set { entries[id] = newValue }
  }

  /// Checks that known jobs are the same ones: the same user's, of the same type and with the same arguments. Otherwise
  /// their submitter would be told that something was done that never was.
  ///
  /// - Parameter isTakenUp: true if they were accepted before, with whatever arguments.
  func check(_ jobs: [JobSpecification], submitter: UInt32, isTakenUp: Bool) throws(AdmissionRefusal) {
    for job in jobs {
      guard let id = job.id, let known = entries[id]?.origin else { continue }
      if known.submitter != Int64(submitter) { throw .taken(id, "another user's job") }
      if known.type != job.type {
        throw .taken(id, "a job of the type \"\(known.type)\", not \"\(job.type)\"")
      }
      if isTakenUp { continue }
      let arguments = job.arguments.serialized()
      if known.arguments == arguments { continue }
      let earlier = (try? JSONValue(parsing: Array(known.arguments.utf8))) ?? .null
      if earlier.isEqual(to: job.arguments) { continue }
      throw .taken(id, "a job with other arguments (\(Self.difference(of: job.arguments, from: earlier)))")
    }
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

  private mutating func read(_ ids: [String], _ context: isolated ManagedObjectContext) throws {
    for start in stride(from: 0, to: ids.count, by: 1_000) {
      for job in try context.fetch(FetchRequest<Job>(ids: ids[start..<min(start + 1_000, ids.count)])) {
        let origin = Origin(submitter: job.submitter, type: job.type, arguments: job.arguments)
        entries[job.id] = Entry(
          objectID: job.objectID, state: job.currentState, failure: job.failure,
          origin: job.submitter < 0 ? nil : origin, file: job.file, spool: job.spool)
      }
    }
  }
}

extension AdmissionRefusal {
  /// - Parameter owner: who or what has the ID.
  fileprivate static func taken(_ id: String, _ owner: String) -> AdmissionRefusal {
    AdmissionRefusal(reason: "the ID \"\(displayName(id))\" is that of \(owner); choose another one")
  }
}

extension JSONValue {
  /// Compares without regard to the order of keys.
  fileprivate func isEqual(to other: JSONValue) -> Bool {
    switch (self, other) {
    case (.object(let one), .object(let other)):
      one.count == other.count
        && one.keys.allSatisfy { key in other[key].map { one[key]?.isEqual(to: $0) == true } ?? false }
    case (.array(let one), .array(let other)):
      one.count == other.count && zip(one, other).allSatisfy { $0.isEqual(to: $1) }
    default: self == other
    }
  }
}
