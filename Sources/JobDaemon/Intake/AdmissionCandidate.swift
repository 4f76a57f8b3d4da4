import Jobs

/// A claimed file, with its jobs.
struct AdmissionCandidate: Sendable {
  let file: ClaimedFile
  let contents: JobFile
  /// True if its jobs were admitted before, and all those that were to run for it are final.
  ///
  /// Then an unknown job has been removed by retention, and an unfinished one was put back; neither concerns the file
  /// any more. If none of its jobs is known, it is another file of the same name.
  var isOver = false
  /// True if it lay in `cur/` already.
  var isTakenUp = false

  /// The ID of a job that has none: of a file that the daemon has made, the jobs' type tells more than the name.
  private func defaultID(_ spool: String?) -> String {
    guard Submitter.isSent(file.name), Submitter.firing(file.name) == nil else {
      return spool.map { file.defaultID(in: $0) } ?? file.defaultID
    }
    let types = Set(contents.jobs.map(\.type))
    return file.defaultID(named: types.count == 1 ? types.first ?? "" : "jobs", in: spool)
  }

  /// The file's jobs, with IDs and batches where the file gives none, and the file's own name in front of local names.
  ///
  /// - Parameter spool: the spool of a fleet's host, which tells its files from those of others.
  func jobs(spool: String?) -> [JobSpecification] {
    var jobs = contents.jobs
    let defaultID = defaultID(spool)
    func global(_ name: String) -> String { JobSpecification.isLocal(name) ? defaultID + name : name }
    let batch = contents.batch ?? (contents.hasCallback ? defaultID : nil)
    for index in jobs.indices {
      let isCallback = contents.hasCallback && index == jobs.count - 1
      jobs[index].after = jobs[index].after.map(global)
      jobs[index].afterAny = jobs[index].afterAny.map(global)
      if !jobs[index].after.isEmpty { jobs[index].renameReferences(global) }
      if let id = jobs[index].id {
        jobs[index].id = global(id)
      } else {
        jobs[index].id =
          isCallback
          ? defaultID + ".callback" : jobs.count == 1 ? defaultID : "\(defaultID).\(index + 1)"
      }
      if isCallback { jobs[index].afterBatch = batch } else { jobs[index].batch = jobs[index].batch ?? batch }
    }
    return jobs
  }
}

/// The reason why a file whose jobs are valid by themselves can't be admitted.
struct AdmissionRefusal: Error, Sendable, Equatable {
  let reason: String
}
