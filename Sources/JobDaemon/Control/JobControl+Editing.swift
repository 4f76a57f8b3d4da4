import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import SystemSupport

/// The reason why a job is not edited.
struct EditRefusal: Error, Equatable {
  enum Code: String, Sendable { case notFound = "not-found", notPossible = "not-possible", changed, forbidden }

  let code: Code
  let message: String
  let hint: String?
}

/// Changes of what a job's next attempt reads.
extension JobControl {
  /// Changes a job that is unfinished and does not run, and calls back with its ID.
  ///
  /// - Parameter answer: also gets ``EditRefusal``, ``JobHandle/Ambiguous``, and ``JobFileError`` if the new arguments are
  ///   not those of its type.
  func edit(
    _ handle: String, _ edit: JobEdit, by changer: JobChanger,
    answer: @escaping @Sendable (Result<String, any Error>) -> Void
  ) {
    enqueue(answer) { [self] in
      let (found, ambiguous, ids) = try find([handle])
      if let ambiguous = ambiguous[handle] { throw ambiguous }
      guard let id = ids.first, let job = found[id] else { throw EditRefusal.unknown(handle) }
      try check(changer, may: edit, aJobOf: job.submitter, named: id)
      if let membership = engine.membership {
        try perform(edit, of: job.objectID, named: id, on: membership)
      } else {
        try perform(edit, on: job, id)
      }
      return id
    }
  }

  private func check(
    _ changer: JobChanger, may edit: JobEdit, aJobOf submitter: Int64?, named name: String
  ) throws(EditRefusal) {
    let isAllowed = edit.changesArguments ? changer.mayEdit(jobsOf: submitter) : changer.mayCommand(jobsOf: submitter)
    if !isAllowed { throw .foreign(name, submitter) }
  }

  private func perform(_ edit: JobEdit, on entry: KnownJobs.Entry, _ name: String) throws {
    let id = entry.objectID
    let state = engine.scheduler.read { schedule, _ in schedule.state(of: id) } ?? entry.state
    if state.isFinal || state == .running { throw EditRefusal.impossible(name, state) }
    if replacements.contains(id) || reverting.contains(id) { throw EditRefusal.replacing(name) }
    let earlier = try context().performAndWait { try JobSpecification(record: $0.job(with: id)) }
    let arguments = try newArguments(edit, of: earlier, name)
    // So that no worker begins it with the old ones meanwhile.
    let suspension = state == .held ? nil : engine.scheduler.change { schedule, _ in schedule.suspend(id) }
    if state != .held && suspension == nil { throw EditRefusal.impossible(name, .running) }
    defer { if let suspension { engine.scheduler.change { $0.end(suspension, at: $1) } } }
    try change(id) { job in
      // A later attempt would go on, with other arguments, where an earlier one has stopped.
      if edit.changesArguments && Reversion.isNeeded(job) { throw EditRefusal.begun(name) }
      if edit.changesArguments { job.arguments = arguments.serialized() }
      if let priority = edit.priority { job.priority = Int32(priority) }
    }
    if let priority = edit.priority { engine.scheduler.change { _ = $0.setPriority(priority, of: id, at: $1) } }
  }

  /// The arguments after an edit, which are checked as those of a new job.
  func newArguments(_ edit: JobEdit, of earlier: JobSpecification, _ name: String) throws -> JSONValue {
    if let seen = edit.seen, !seen.isEqual(to: earlier.arguments) { throw EditRefusal.changed(name) }
    let edited = try edit.arguments(from: earlier.arguments)
    let arguments =
      engine.handlers[earlier.type].map { edit.resolvingPaths(of: edited, earlier.arguments, $0) } ?? edited
    let limit = engine.policy.configuration.value.spool.maxJobFileSize
    guard arguments.serialized().utf8.count <= limit else {
      throw JobFileError("the arguments have more than \(limit) bytes; see [Spool] MaxJobFileSize")
    }
    let job: JSONObject = [
      "type": .string(earlier.type), "arguments": arguments, "after": .array(earlier.after.map(JSONValue.string)),
    ]
    do throws(JobFileError) {
      let text = Data(JSONValue.object(job).serializedBytes())
      _ = try engine.handlers.parse(text, at: engine.date, engine.policy.configuration.value.jobs.unknownTypes)
    } catch {
      // Its line is none of the user's.
      throw JobFileError(error.message, key: error.key)
    }
    return arguments
  }
}

extension JobEdit {
  var changesArguments: Bool { arguments != nil || !places.isEmpty }
}

extension EditRefusal {
  /// - Parameter spool: that of the host at which the job names files.
  static func elsewhere(_ name: String, _ spool: String) -> EditRefusal {
    EditRefusal(
      code: .notPossible,
      message: "the job \"\(displayName(name))\" names files, and came to \(displayName(spool)), where these are",
      hint: "edit it on that host, or have it name files in [Fleet] SharedFolders only")
  }

  /// - Parameter submitter: the user whose job it is, if that is known.
  static func foreign(_ name: String, _ submitter: Int64?) -> EditRefusal {
    EditRefusal(
      code: .forbidden,
      message: "the job \"\(displayName(name))\" belongs to \(submitter.map { "user \($0)" } ?? "an unknown user"), "
        + "and acts with that user's rights",
      hint: "that user can edit it, and so can root and the daemon's user")
  }

  static func unknown(_ handle: String) -> EditRefusal {
    EditRefusal(
      code: .notFound, message: "there is no job \"\(displayName(handle))\"", hint: "`bobbinctl list` shows the jobs")
  }

  static func impossible(_ name: String, _ state: JobState) -> EditRefusal {
    let shown = displayName(name)
    let cure =
      state.isFinal
      ? "`bobbinctl submit --replace` runs the ID again with what a file says"
      : "`bobbinctl hold \(shown)` ends the attempt, `bobbinctl release \(shown)` goes on after the edit"
    return EditRefusal(code: .notPossible, message: "the job \"\(shown)\" can't be edited: it is \(state)", hint: cure)
  }

  static func begun(_ name: String) -> EditRefusal {
    EditRefusal(
      code: .notPossible,
      message: "the job \"\(displayName(name))\" can't be edited: a part of its work is in the store already",
      hint: "`bobbinctl submit --replace` reverts that, and begins anew with what a file says")
  }

  static func replacing(_ name: String) -> EditRefusal {
    EditRefusal(
      code: .notPossible, message: "the job \"\(displayName(name))\" is just being replaced or cancelled",
      hint: "try again in a moment")
  }

  static func changed(_ name: String) -> EditRefusal {
    EditRefusal(
      code: .changed, message: "somebody else has changed the job \"\(displayName(name))\" meanwhile",
      hint: "edit it once more")
  }
}
