import Configuration
import Foundation
import JSONText
import Jobs
import ObjectGraph
import SystemSupport

/// Admits claimed files: checks them, recognizes jobs that are known already, inserts the rest.
///
/// Not thread-safe: what one admission has found must hold until its jobs are in the schedule.
final class Admission: Sendable {
  private let main: ManagedObjectContext
  private let handlers: HandlerTable
  private let scheduler: Scheduler
  private let policy: JobPolicy

  init(main: ManagedObjectContext, handlers: HandlerTable, scheduler: Scheduler, policy: JobPolicy) {
    self.main = main
    self.handlers = handlers
    self.scheduler = scheduler
    self.policy = policy
  }

  /// Reads a file's jobs and checks types and arguments.
  func parse(_ file: ClaimedFile) throws(JobFileError) -> JobFile {
    try JobFile(file.data) { (job) throws(JobFileError) in
      if let handler = handlers[job.type] {
        try handler.validate(job.arguments)
      } else if policy.configuration.value.jobs.unknownTypes == .refuse {
        throw JobFileError(unknownType(job.type), key: "type")
      }
    }
  }

  private func unknownType(_ type: String) -> String {
    "there is no job type \"\(type)\"; there are \(handlers.types.joined(separator: ", "))"
  }

  /// A claimed file, with its jobs.
  struct Candidate: Sendable {
    let file: ClaimedFile
    let contents: JobFile
    /// True if its jobs were admitted before, and all those that were to run for it are final.
    ///
    /// Then an unknown job has been removed by retention, and an unfinished one was put back; neither concerns the file
    /// any more. If none of its jobs is known, it is another file of the same name.
    var isOver = false
    /// True if it lay in `cur/` already.
    var isTakenUp = false
  }

  /// The result of admitting one file.
  struct Admitted: Sendable {
    let file: LiveFile
    /// True if it lay in `cur/` already.
    var isTakenUp = false
    /// Jobs for the schedule.
    var jobs: [NewJob] = []
    /// Jobs that were cancelled before they began, as something that they depend on has failed.
    var finished: [FinishedJob] = []
    /// The objects of all jobs in the file, in order.
    var objectIDs: [ManagedObjectID] = []
    /// The IDs of all jobs in the file, in order.
    let ids: [String]
    /// Other files' unfinished jobs: this file is released with them.
    var duplicatesOfLive: [ManagedObjectID] = []
    /// The failures of earlier, durable runs of its jobs; the file is released at once if it has no other jobs.
    var earlierFailures: [String] = []
  }

  /// Inserts the jobs of files together, in one save; the caller schedules them.
  ///
  /// A job whose ID is known is not run again, whether it is final or not.
  ///
  /// - Returns: the result for each file, in their order.
  func admit(_ candidates: [Candidate]) throws -> [Result<Admitted, AdmissionRefusal>] {
    let jobs = candidates.map { $0.jobs() }
    let names = jobs.joined().flatMap { [$0.id ?? ""] + $0.after + $0.afterAny }
    let context = ManagedObjectContext(parent: main, name: "admission")
    return try context.performAndWait { context in
      var round = AdmissionRound(
        known: try KnownJobs(names, context, scheduler), scheduler: scheduler, policy: policy, handlers: handlers)
      let admitted = zip(candidates, jobs).map { candidate, jobs in
        Result { () throws(AdmissionRefusal) in try round.admit(candidate, jobs, context) }
      }
      try context.save()
      return admitted
    }
  }
}

extension Admission.Candidate {
  /// The file's jobs, with IDs and batches where the file gives none.
  fileprivate func jobs() -> [JobSpecification] {
    var jobs = contents.jobs
    let batch = contents.batch ?? (contents.hasCallback ? file.defaultID : nil)
    for index in jobs.indices {
      let isCallback = contents.hasCallback && index == jobs.count - 1
      if jobs[index].id == nil {
        jobs[index].id =
          isCallback
          ? file.defaultID + ".callback" : jobs.count == 1 ? file.defaultID : "\(file.defaultID).\(index + 1)"
      }
      if isCallback { jobs[index].afterBatch = batch } else { jobs[index].batch = jobs[index].batch ?? batch }
    }
    return jobs
  }
}
