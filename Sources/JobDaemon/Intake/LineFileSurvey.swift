import Foundation
import JobSchedule
import Jobs
import SystemSupport

/// The first reading of a file with one job on each line: checks all lines and copies them, in bounded memory.
struct LineFileSurvey {
  /// The findings of the first reading.
  enum Result {
    /// All lines are good, and copied.
    case new
    /// Its jobs were admitted by an earlier run, and some of them are unfinished.
    case unfinished
    /// Its jobs were admitted before, and are final.
    case over(FailureList)
  }

  let spool: Spool
  let admission: Admission
  /// The most bytes of a line.
  let lineLimit: Int
  /// The most jobs of the file.
  let jobLimit: Int

  /// Reads a file.
  ///
  /// - Parameter onIntakeQueue: does something between two admissions.
  /// - Throws: ``LineFileRefusal`` with what is wrong in which line, and ``SpoolQuota/Refusal``.
  func run(
    _ order: LineFileAdmission.Order, onIntakeQueue: (() throws -> Void) throws -> Void
  ) throws -> Result {
    let file = try spool.current.openFile(order.file.name)
    if let kind = ForeignFile.kind(of: try file.start(upTo: ForeignFile.prefixLength)) {
      throw LineFileRefusal(reasons: [ForeignFile.refusal(kind)])
    }
    let size = try file.status().size
    let ids = LineIDs()
    admission.reserve(ReservedIDs(file: order.file.name, ids: ids))
    let accepted = admission.now
    var draft = try spool.draftCopy(of: order.file, accepted: accepted)
    var reader = LineReader(file, limit: lineLimit)
    var lines = JobLines(ids)
    var findings = Findings()
    var part = LinePart()
    var number = 0
    var left = size
    while let line = try reader.next() {
      number += 1
      guard case .text(let text) = line else {
        findings.add(JobFileError("has more than \(lineLimit) bytes; see [Spool] MaxJobFileSize", line: number))
        continue
      }
      // Whoever has it open might go on writing for ever. The last line has no end of its own.
      left -= Int64(text.count) + 1
      if left < -1 {
        throw LineFileRefusal(reasons: [
          "it has grown while it was read; write it under tmp/, and rename it when it is whole"
        ])
      }
      do throws(JobFileError) {
        let job = try lines.next(text, line: number, at: accepted) { (job) throws(JobFileError) in
          try admission.check(job)
        }
        if let job { part.add(job, line: number, bytes: text.count) }
      } catch {
        findings.add(error)
      }
      if lines.count > jobLimit { throw LineFileRefusal(reasons: ["it has more than \(jobLimit) jobs; split it"]) }
      if !findings.hasErrors { try draft.append(text) }
      if part.isFull { try look(at: &part, of: order, &findings, onIntakeQueue) }
    }
    try look(at: &part, of: order, &findings, onIntakeQueue)
    if lines.count == 0, !findings.hasErrors {
      throw LineFileRefusal(reasons: [size == 0 ? "the file is empty" : "the file is blank"])
    }
    if findings.hasErrors {
      throw LineFileRefusal(reasons: findings.reasons, isOfKnownIDs: findings.areOfKnownIDs)
    }
    if findings.isUnfinished { return .unfinished }
    if findings.isOver { return .over(findings.failures) }
    // Before its copy is kept, from which the next start would go on.
    if !order.isTakenUp {
      try spool.quota.add(order.file.name, of: order.file.submitter, .init(jobs: lines.count, bytes: Int(size)))
    }
    try spool.keep(draft)
    return .new
  }

  /// Finds out which jobs of a part are known, and whether this very file brought them; begins the next part.
  private func look(
    at part: inout LinePart, of order: LineFileAdmission.Order, _ findings: inout Findings,
    _ onIntakeQueue: (() throws -> Void) throws -> Void
  ) throws {
    defer { part = part.next }
    if part.jobs.isEmpty || findings.hasErrors { return }
    // An ID that is made of a new file is new; should it not be, its job is recognized when it is admitted.
    if !order.isTakenUp && part.jobs.allSatisfy(\.isNamedAfterFile) { return }
    var candidate = part.candidate(of: order.file, LiveFile(name: order.file.name, jobCount: 0))
    candidate.isTakenUp = order.isTakenUp
    var known: [Swift.Result<KnownJobs.Entry?, AdmissionRefusal>] = []
    try onIntakeQueue { known = try admission.look(at: candidate) }
    for (index, result) in known.enumerated() {
      switch result {
      case .failure(let refusal): findings.add(refusal, line: part.lines[index])
      case .success(nil): continue
      case .success(let entry?):
        if order.isOver {
          findings.note(entry, of: part.jobs[index].id ?? "line \(part.lines[index])")
        } else if order.isTakenUp, !entry.state.isFinal, admission.cameInFile(entry, order.file.name) {
          // One that is final may have come in an earlier file of that name.
          findings.isUnfinished = true
        }
      }
    }
  }

  /// The findings about the lines of a file so far.
  private struct Findings {
    /// The errors that a refusal tells.
    private static let toldErrors = 100

    private var errors: [JobFileError] = []
    private var errorCount = 0
    /// The number of those that are of IDs that other jobs have.
    private var knownIDCount = 0
    private(set) var isOver = false
    var isUnfinished = false
    private(set) var failures = FailureList()

    var hasErrors: Bool { errorCount > 0 }
    /// True if nothing else is wrong than that other jobs have IDs of the file.
    var areOfKnownIDs: Bool { hasErrors && errorCount == knownIDCount }

    mutating func add(_ refusal: AdmissionRefusal, line: Int) {
      knownIDCount += 1
      add(JobFileError(refusal.reason, line: line, key: "id"))
    }

    mutating func add(_ error: JobFileError) {
      errorCount += 1
      if errors.count < Self.toldErrors { errors.append(error) }
    }

    /// Notes a job of a file that is over; an unfinished one was put back, and does not concern the file any more.
    mutating func note(_ known: KnownJobs.Entry, of name: String) {
      isOver = true
      if known.state == .discarded || known.state == .quarantined {
        failures.add("\(name): \(known.failure ?? "failed")", order: known.objectID.key)
      }
    }

    var reasons: [String] {
      let told = errors.sorted { ($0.line ?? 0) < ($1.line ?? 0) }.map(\.description)
      return told + (errorCount > told.count ? ["and \(errorCount - told.count) more errors"] : [])
    }
  }
}

/// The reasons why a file with one job on each line is refused.
struct LineFileRefusal: Error {
  /// For people; one for each line, and the number of those that are not told.
  let reasons: [String]
  /// True if the only reason is that other jobs have IDs of the file.
  var isOfKnownIDs = false
}
