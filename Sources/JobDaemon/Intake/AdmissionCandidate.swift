import Foundation
import JobSchedule
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
  /// The file with those of its jobs that were admitted before, and are unfinished; nil if there are none.
  var live: LiveFile?
  /// The part of a file with one job on each line that the contents are; nil for a whole file.
  var part: Part?

  /// The ID of a job that has none: of a file that the daemon has made, the jobs' type tells more than the name.
  private func defaultID(_ form: ClaimedFile.IDForm) -> String {
    guard Submitter.isSent(file.name), Submitter.firing(file.name) == nil else { return file.defaultID(form) }
    let types = part == nil ? Set(contents.jobs.map(\.type)) : []
    return file.defaultID(form, named: types.count == 1 ? types.first ?? "" : "jobs")
  }

  /// The file's jobs, with IDs and batches where the file gives none, and the file's own name in front of local names.
  ///
  /// - Parameter form: the form of those IDs.
  func jobs(_ form: ClaimedFile.IDForm) -> [JobSpecification] {
    var jobs = contents.jobs
    let defaultID = defaultID(form)
    func global(_ name: String) -> String { JobSpecification.isLocal(name) ? defaultID + name : name }
    let batch = contents.batch ?? (contents.hasCallback ? defaultID : nil)
    let replacements = jobs.contains(where: \.replaces) ? [replacementIdentity] : []
    for index in jobs.indices {
      let isCallback = contents.hasCallback && index == jobs.count - 1
      jobs[index].after = jobs[index].after.map(global)
      jobs[index].afterAny = jobs[index].afterAny.map(global)
      if !jobs[index].after.isEmpty { jobs[index].renameReferences(global) }
      // Long IDs tell it by themselves.
      if form == .short && jobs[index].isNamedAfterFile { jobs[index].madeOf = file.identity }
      // Also those that replace nothing: their records tell that the file may have replacements that are not made yet.
      jobs[index].replacements = replacements
      if let id = jobs[index].id {
        jobs[index].id = global(id)
      } else {
        let number = (part?.jobsBefore ?? 0) + index + 1
        jobs[index].id =
          isCallback
          ? defaultID + ".callback" : jobs.count == 1 && part == nil ? defaultID : "\(defaultID).\(number)"
      }
      if isCallback { jobs[index].afterBatch = batch } else { jobs[index].batch = jobs[index].batch ?? batch }
    }
    return jobs
  }

  /// The identity by which a replacement is known that this file has made: it covers what the file says, too.
  private var replacementIdentity: String {
    var hash = StableHash()
    hash.combine(file.defaultID(.long).utf8)
    hash.combine(file.data)
    return hash.digits
  }
}

extension [AdmissionCandidate] {
  /// The first of these files, to be admitted in one save. One whose jobs wait for others is alone, so that it finds the
  /// earlier ones in the schedule.
  var nextRound: ArraySlice<AdmissionCandidate> {
    let simple = prefix { !$0.contents.hasCallback && !$0.contents.jobs.contains(where: \.hasDependencies) }
    return simple.isEmpty ? prefix(1) : simple
  }
}

extension [JobSpecification] {
  /// Adds the IDs of these jobs, and of those that they wait for.
  func addNames(to names: inout [String]) {
    for job in self {
      names.append(job.id ?? "")
      names += job.after
      names += job.afterAny
    }
  }
}

/// A file's jobs under all the IDs by which they may be known.
struct CandidateJobs {
  private typealias Version = (form: ClaimedFile.IDForm, jobs: [JobSpecification])

  private let candidate: AdmissionCandidate
  private let spool: String
  /// The form for files that are not known.
  private let usual: ClaimedFile.IDForm
  /// One for each form of ID, in the order in which they are looked for; one alone if the file names all of its jobs.
  private let versions: [Version]

  /// A store that was moved from a host of its own to a fleet, or back, knows files in `cur/` by the other's forms.
  ///
  /// - Parameters:
  ///   - spool: the name of this host's spool among those of a fleet.
  ///   - isOfFleet: true on a host of a fleet.
  init(_ candidate: AdmissionCandidate, spool: String, isOfFleet: Bool) {
    self.candidate = candidate
    self.spool = spool
    // All parts of a file have the same form, whichever IDs are taken; so it is one that tells by itself.
    usual = isOfFleet ? .ofSpool(spool) : candidate.part == nil ? .short : .long
    let forms: [ClaimedFile.IDForm] =
      if !candidate.contents.jobs.contains(where: \.isNamedAfterFile) {
        [isOfFleet ? .ofSpool(spool) : .long]
      } else if candidate.isTakenUp {
        [.ofSpool(spool), .long] + (candidate.part == nil ? [.short] : [])
      } else {
        isOfFleet || candidate.part != nil ? [usual] : [.long, .short]
      }
    versions = forms.map { ($0, candidate.jobs($0)) }
  }

  /// Adds the IDs of all jobs that it may have, and of those that they wait for.
  func addNames(to names: inout [String]) {
    for version in versions { version.jobs.addNames(to: &names) }
  }

  /// The jobs under the IDs by which they are known, or else under new ones.
  ///
  /// A short ID is only that of a job which was made of this very file; where another job has it, the long form is used.
  func chosen(knowing known: KnownJobs) -> [JobSpecification] {
    guard versions.count > 1 else { return versions[0].jobs }
    var isShortTaken = false
    for version in versions {
      // By their places: specifications are large, and pairs of them are copies.
      let entries = version.jobs.indices.compactMap { index in
        candidate.contents.jobs[index].isNamedAfterFile ? known[version.jobs[index].id ?? ""] : nil
      }
      if entries.contains(where: { isOwn($0, version.form) }) { return version.jobs }
      if version.form == .short && !entries.isEmpty { isShortTaken = true }
    }
    let form: ClaimedFile.IDForm = usual == .short && isShortTaken ? .long : usual
    return versions.first { $0.form == form }?.jobs ?? []
  }

  /// True if a known job, which has an ID of that form, was made of this file.
  private func isOwn(_ entry: KnownJobs.Entry, _ form: ClaimedFile.IDForm) -> Bool {
    // The whole hash tells; one that was put back has no file any more.
    if form == usual || form == .long && usual == .short { return form != .short || entry.keys.madeOf == identity }
    let isHere = (entry.spool ?? spool) == spool
    return isHere && (form == .short ? entry.keys.madeOf == identity : entry.file == candidate.file.name.description)
  }

  private var identity: String? { candidate.file.identity }
}

/// The reason why a file whose jobs are valid by themselves can't be admitted.
struct AdmissionRefusal: Error, Sendable, Equatable {
  let reason: String
}
