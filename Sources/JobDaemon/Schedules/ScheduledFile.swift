package import Configuration
import Foundation
import JSONText
import JobSchedule
package import Jobs
import SystemSupport
import TextSupport
import Timetable

/// A schedule and the job file that it submits, as both were read at the start or at a reload.
package struct ScheduledFile: Sendable {
  /// The most jobs of a file whose firings wait for each other, each job for each.
  private static let queueLimit = 100
  /// The most bytes of a batch's name, which gets the moment of the firing.
  private static let batchLimit = 170

  let rule: ScheduleRule
  /// The path of the job file.
  let jobFile: String
  private let data: Data
  /// True if any of its jobs belongs to a batch.
  private let hasBatches: Bool

  init(rule: ScheduleRule, jobFile: String = "", data: Data, hasBatches: Bool = false) {
    self.rule = rule
    self.jobFile = jobFile
    self.data = data
    self.hasBatches = hasBatches
  }

  /// The moments at which it fires, as its definition says them: `Mon..Fri *-*-* 03:00:00`, or `every 5min`.
  var moments: String {
    let interval = rule.interval.map { ["every \(TimeSpan.text(of: .milliseconds($0)))"] } ?? []
    return (rule.times.map(\.description) + interval).joined(separator: ", ")
  }

  /// Says that it never fires any more; nil if it does.
  package var idleness: String? {
    if rule.next(after: Moment.now().wall) != nil { return nil }
    return
      "the schedule \"\(displayName(rule.name))\" never fires any more: OnCalendar=\(moments) has no moment to come"
  }

  /// The schedules of a configuration.
  ///
  /// - Parameter handlers: those of all types, which check the jobs.
  /// - Throws: everything that is wrong in any of the files, by file, line and key.
  package static func load(
    _ paths: Paths, _ configuration: Configuration, handlers: [any JobHandler]
  ) throws(ConfigurationError) -> [ScheduledFile] {
    let table = HandlerTable(handlers)
    var files: [ScheduledFile] = []
    var problems: [ConfigurationProblem] = []
    for definition in try ScheduleDefinition.load(folder: paths.schedules) {
      do throws(ConfigurationProblem) {
        files.append(try ScheduledFile(definition, configuration, handlers: table))
      } catch {
        problems.append(error)
      }
    }
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return files
  }

  private init(
    _ definition: ScheduleDefinition, _ configuration: Configuration, handlers: HandlerTable
  ) throws(ConfigurationProblem) {
    rule = definition.rule
    jobFile = definition.jobFile
    let limit = configuration.spool.maxJobFileSize
    do throws(SystemError) {
      data = try FileDescriptor.open(definition.jobFile).readAll(limit: limit + 1)
    } catch {
      throw definition.problem("Job", "the job file \(definition.jobFile) can't be read: \(error)")
    }
    if data.count > limit {
      throw definition.problem("Job", "the job file \(definition.jobFile) is larger than [Spool] MaxJobFileSize")
    }
    let contents: JobFile
    do throws(JobFileError) {
      // Which types the other hosts of a fleet have is known later, to each firing.
      let unknownTypes = configuration.store.url.isEmpty ? configuration.jobs.unknownTypes : .hold
      contents = try handlers.parse(data, at: Date(), unknownTypes)
    } catch {
      throw definition.problem("Job", "\(definition.jobFile): \(error)")
    }
    if let job = contents.jobs.first(where: { !$0.isNamedAfterFile }) {
      throw definition.problem(
        "Job",
        "\(definition.jobFile): a job with the ID \"\(displayName(job.id ?? ""))\" would run only once; "
          + "leave \"id\" out, or give one that begins with #")
    }
    let batches = [contents.batch].compactMap(\.self) + contents.jobs.compactMap(\.batch)
    if let long = batches.first(where: { $0.utf8.count > Self.batchLimit }) {
      throw definition.problem(
        "Job",
        "\(definition.jobFile): the batch \"\(displayName(long))\" gets the moment of each firing, and its name may have "
          + "\(Self.batchLimit) bytes")
    }
    hasBatches = !batches.isEmpty
    if rule.overlap == .queue, contents.jobs.count > Self.queueLimit {
      throw definition.problem("Job", "with Overlap=queue a job file may have \(Self.queueLimit) jobs")
    }
  }

  /// The file to be submitted. A batch that it names is the firing's own, as its jobs are: `nightly@2026-11-23T03:00:00Z`.
  ///
  /// - Parameter earlier: IDs of jobs that all of its jobs wait for, however they end.
  func data(of firing: Firing, waitingFor earlier: [String]) throws -> Data {
    if earlier.isEmpty && !hasBatches { return data }
    let file = try JSONDocument(parsing: data, dialect: .json5).value
    guard var object = file.object else { return data }
    guard let jobs = object["jobs"]?.array else {
      return Data(Self.job(file, of: firing, waitingFor: earlier).serializedBytes())
    }
    object["batch"] = object["batch"].map { Self.batch($0, of: firing) }
    // It waits for the others anyway.
    object["callback"] = object["callback"].map { Self.job($0, of: firing, waitingFor: []) }
    object["jobs"] = .array(jobs.map { Self.job($0, of: firing, waitingFor: earlier) })
    return Data(JSONValue.object(object).serializedBytes())
  }

  private static func job(_ job: JSONValue, of firing: Firing, waitingFor earlier: [String]) -> JSONValue {
    guard var object = job.object else { return job }
    object["batch"] = object["batch"].map { batch($0, of: firing) }
    if !earlier.isEmpty {
      let own = object["afterAny"].map { $0.array ?? [$0] } ?? []
      object["afterAny"] = .array(own + earlier.map(JSONValue.string))
    }
    return .object(object)
  }

  private static func batch(_ name: JSONValue, of firing: Firing) -> JSONValue {
    name.string.map { .string("\($0)@\(firing.moment)") } ?? name
  }
}
