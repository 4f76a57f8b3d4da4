public import Foundation
import JSONText

/// The contents of a job file: one job, or several that are admitted together; the format is in
/// Documentation/JobFile.md.
public struct JobFile: Sendable {
  /// The jobs in the order of the file, at least one; a callback comes last.
  public let jobs: [JobSpecification]
  /// The batch that the file makes of its jobs, if it names it.
  public let batch: String?
  /// True if the last job is to run when all others of the batch are final.
  public let hasCallback: Bool
  /// The most jobs that one file may hold.
  public static let jobLimit = 100_000

  /// Reads a job file.
  ///
  /// - Parameter check: checks a job's type and arguments; called for each job.
  /// - Throws: ``JobFileError`` that names line and key.
  public init(
    _ data: Data, check: (JobSpecification) throws(JobFileError) -> Void = { _ throws(JobFileError) in }
  ) throws(JobFileError) {
    if data.allSatisfy({ $0 == 0x20 || $0 == 0x0a || $0 == 0x0d || $0 == 0x09 }) {
      throw JobFileError(data.isEmpty ? "the file is empty" : "the file is blank")
    }
    let document: JSONDocument
    do throws(JSONError) {
      document = try JSONDocument(parsing: data, dialect: .json5)
    } catch {
      throw JobFileError(error.message, line: error.line)
    }
    let reader = JobFileReader(document: document)
    let contents = try reader.contents()
    var jobs: [JobSpecification] = []
    for (path, value) in contents.jobs {
      let job = try reader.job(value, path)
      do throws(JobFileError) {
        try check(job)
      } catch {
        throw reader.placed(error, under: path)
      }
      jobs.append(job)
    }
    do throws(JobFileOrderError) { try JobOrder(jobs).check() } catch {
      throw reader.placed(JobFileError(error.message, key: error.key), under: contents.jobs[error.index].path)
    }
    if contents.hasCallback, let callback = jobs.last { try reader.check(callback, of: jobs, batch: contents.batch) }
    self.jobs = jobs
    batch = contents.batch
    hasCallback = contents.hasCallback
  }
}
