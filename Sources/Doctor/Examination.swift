import Foundation
import Glibc
import SystemSupport

/// Examines a daemon's spool and store for contradictions; changes nothing.
///
/// Beside a running daemon, the latest changes are ignored: a file appears before its job is in the store, and goes
/// after the job's outcome is.
package struct Examination {
  let spool: String
  let store: String
  /// True if there is only a store, such as in a backup.
  private let isStoreAlone: Bool
  /// True if the jobs are in the database of a fleet.
  let isOfFleet: Bool
  /// True if a daemon is running there; if none is, its next start cleans up after a crash.
  let isRunning: Bool
  /// Nanoseconds since 1970 after which a change is too new to be judged; the end of time where no daemon runs.
  let newest: Int64
  var report = Report()
  /// The number of jobs that may be writing pictures.
  var unfinishedPictures = 0
  /// Folders that are missing.
  private var missing: Set<String> = []

  /// The final states; see Documentation/JobStates.md.
  static let finalStates = ["completed", "cancelled", "discarded", "quarantined"]
  static let states = finalStates + ["available", "scheduled", "waiting", "held", "running", "retryable"]
  static let final = finalStates.map(StoreReader.literal).joined(separator: ", ")

  /// The time, in seconds, that the daemon may take for what it does at once.
  private static let grace = 10.0

  /// - Parameters:
  ///   - spool: The folder of the spool's folders.
  ///   - store: The store's file, or the URL of a fleet's database.
  ///   - isOfFleet: True if it is a fleet's database, into which this does not look.
  ///   - flushInterval: Seconds for which a change may not be on disk.
  package init(spool: String, store: String, isOfFleet: Bool = false, isRunning: Bool, flushInterval: Double) {
    self.spool = spool
    self.store = store
    self.isOfFleet = isOfFleet
    isStoreAlone = false
    self.isRunning = isRunning
    let time = Date().timeIntervalSince1970 - Self.grace - flushInterval
    newest = isRunning ? Int64(time * 1e9) : .max
  }

  /// Examines a store that no daemon uses and that has no spool, such as that of a backup.
  ///
  /// - Parameter store: The store's file.
  package init(storeAlone store: String) {
    spool = ""
    self.store = store
    isOfFleet = false
    isStoreAlone = true
    isRunning = false
    newest = .max
  }

  /// The reason why nothing could be examined.
  package struct Impossible: Error, CustomStringConvertible {
    package let description: String
    /// True if rights are missing.
    package let isDenied: Bool
  }

  /// Looks through everything.
  package static func run(_ examination: consuming Examination) throws(Impossible) -> Report {
    do {
      if examination.isStoreAlone {
        // Without it there would be nothing to find.
        _ = try FileDescriptor.open(examination.store)
        try examination.examineStore([])
        return examination.report
      }
      // Without it this is not the place, and there would be nothing but findings.
      _ = try Directory(path: examination.spool)
      // In this order: a file that goes meanwhile was in order, one that comes is not seen.
      let current = try examination.entries("cur")
      try examination.examineFolders()
      try examination.examineStore(current)
      try examination.examineFailed()
      try examination.examineLeftovers()
    } catch let error as SystemError {
      throw Impossible(
        description: "\(error)", isDenied: error.code == .accessDenied || error.code == .notPermitted)
    } catch {
      throw Impossible(description: "\(error)", isDenied: false)
    }
    return examination.report
  }

  /// The entries of a spool folder; none if it is missing.
  mutating func entries(_ folder: String) throws -> [FileName] {
    guard let names = try open(spool + "/" + folder)?.entries().sorted() else { return [] }
    report.files += names.count
    return names
  }

  /// Opens a folder; nil, and a finding, if it is missing.
  ///
  /// A finding even where no daemon runs, whose next start makes the folder: its content is lost until then.
  mutating func open(_ path: String) throws(SystemError) -> Directory? {
    do throws(SystemError) { return try Directory(path: path) } catch
      where error.code == .noEntry || error.code == .notDirectory
    {
      let isThere = error.code == .notDirectory
      if missing.insert(path).inserted {
        report.find(
          "missing-folder", path, problem: isThere ? "this is no folder" : "the folder is missing",
          action: (isThere ? "move it away, and " : "") + (isRunning ? "restart" : "start")
            + " the daemon, which makes the folder; its files have to come from a backup")
      }
      return nil
    }
  }

  /// True if an entry exists and has not changed for a while.
  func isUnchanged(_ name: FileName, in folder: String) throws -> Bool {
    do {
      return try Directory(path: spool + "/" + folder).status(of: name).changeTime < newest
    } catch  where error.code == .noEntry {
      return false
    }
  }

  func path(_ name: FileName, _ folder: String) -> String { "\(spool)/\(folder)/\(name)" }
}

/// The findings of an examination.
package struct Report: Sendable {
  /// The faults.
  package internal(set) var findings: [Finding] = []
  /// Remarks on what is unusual but in order, such as work that the daemon resumes at its next start.
  package internal(set) var notes: [String] = []
  /// The number of jobs that were examined.
  package internal(set) var jobs = 0
  /// The number of files that were examined.
  package internal(set) var files = 0

  mutating func find(_ code: String, _ subject: String, problem: String, action: String) {
    findings.append(Finding(code, subject, problem: problem, action: action))
  }
}

/// A fault: what is wrong, where, and what to do about it.
package struct Finding: Sendable, Hashable {
  /// Names the kind; the same from release to release.
  package let code: String
  /// The file, folder or job.
  package let subject: String
  package let problem: String
  package let action: String

  package init(_ code: String, _ subject: String, problem: String, action: String) {
    self.code = code
    self.subject = subject
    self.problem = problem
    self.action = action
  }
}
