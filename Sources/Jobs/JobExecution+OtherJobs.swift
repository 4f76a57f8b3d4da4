package import Foundation
public import JSONText
package import ObjectGraph

/// A job that another one came after, as its record tells it.
public struct PrecedingJob: Sendable, Hashable {
  /// Its ID.
  public let id: String
  /// The state that it ended in; nil if there is no record of it any more.
  public let state: JobState?
  /// The result; nil if it was not completed, or is not told.
  public let result: JSONValue?
  /// The error that it ended with, or why nothing is told.
  public let error: String?

  /// The object that programs read.
  package var json: JSONValue {
    .object([
      "id": .string(id), "state": state.map { .string($0.rawValue) } ?? .null, "result": result ?? .null,
      "error": error.map(JSONValue.string) ?? .null,
    ])
  }
}

/// The end of a batch: how many of its jobs ended how, and which have failed.
public struct BatchSummary: Sendable, Hashable {
  /// A job that failed.
  public struct Failure: Sendable, Hashable {
    /// Its ID.
    public let id: String
    /// The error that it ended with.
    public let error: String?
  }

  /// The most failures that are listed.
  public static let failureLimit = 1_000

  /// The name of the batch.
  public let name: String
  /// The number of its jobs in each state that any of them is in.
  public let counts: [JobState: Int]
  /// The jobs that failed, in the order of their admission; of more than ``failureLimit`` the first.
  public let failures: [Failure]

  /// The end of the job that ended last; nil if none has.
  package let lastEnd: Date?

  /// The number of all its jobs that have records.
  public var count: Int { counts.values.reduce(0, +) }
  /// The number of those that failed.
  public var failureCount: Int { counts.reduce(0) { $0 + ($1.key.isFailure ? $1.value : 0) } }

  /// True if none of its jobs is unfinished.
  package var isOver: Bool { counts.keys.allSatisfy(\.isFinal) }

  /// The same summary, with so many failures at most.
  package func listing(failures limit: Int) -> BatchSummary {
    BatchSummary(name: name, counts: counts, failures: Array(failures.prefix(limit)), lastEnd: lastEnd)
  }

  /// The object that programs read.
  package var json: JSONValue {
    var counts = JSONObject()
    for state in JobState.allCases { counts[state.rawValue] = self.counts[state].map { .integer(Int64($0)) } }
    let failed = failures.map { failure -> JSONValue in
      .object(["id": .string(failure.id), "error": failure.error.map(JSONValue.string) ?? .null])
    }
    return .object([
      "name": .string(name), "counts": .object(counts), "failedCount": .integer(Int64(failureCount)),
      "failed": .array(failed),
    ])
  }
}

extension JobExecution {
  /// Reads how the jobs ended that this one came after: those of its `after`, then those of its `afterAny`.
  ///
  /// Cost: nothing without such jobs, and otherwise a fetch by ID for each hundred of them. What makes the results
  /// larger than 4 MiB together is left out, and its ``PrecedingJob/error`` says so.
  /// - Throws: ``StoreError`` if the store can't be read.
  public func precedingJobs() async throws -> [PrecedingJob] {
    var reader = PrecedingJobReader(specification)
    while let names = reader.next {
      let found = try await context.perform { try Self.records(of: names, in: $0) }
      reader.add(names, found)
    }
    return reader.jobs
  }

  /// Reads how the jobs of the batch ended whose callback this is; nil if it is none.
  ///
  /// Cost: two statements that read the index of batches, and the records of the batch.
  /// - Throws: ``StoreError`` if the store can't be read.
  public func batchSummary() async throws -> BatchSummary? {
    guard let name = specification.afterBatch else { return nil }
    return try await context.perform { try BatchSummary(ofBatch: name, in: $0) }
  }

  /// The end of a job as its record tells it.
  struct Record: Sendable {
    let state: JobState
    let result: String?
    let error: String?
  }

  static func records(of names: [String], in context: isolated ManagedObjectContext) throws -> [String: Record] {
    let found = try context.fetch(FetchRequest<Job>(ids: names)).map { job in
      (job.id, Record(state: job.currentState, result: job.result, error: job.failure.map(BatchSummary.shortened)))
    }
    return Dictionary(found) { first, _ in first }
  }
}

/// The jobs that a job came after, read piece by piece within a bound.
struct PrecedingJobReader {
  /// The jobs that are read at a time, and the bytes of their results that are told in all.
  static let (chunkSize, resultLimit) = (100, 4 << 20)

  private(set) var jobs: [PrecedingJob] = []
  private var left: ArraySlice<String>
  private var resultBytes = 0

  init(_ specification: JobSpecification) {
    var known: Set<String> = []
    left = (specification.after + specification.afterAny).filter { known.insert($0).inserted }[...]
  }

  /// The IDs to be read next; nil if there are none.
  var next: [String]? { left.isEmpty ? nil : Array(left.prefix(Self.chunkSize)) }

  mutating func add(_ names: [String], _ records: [String: JobExecution.Record]) {
    left = left.dropFirst(names.count)
    for name in names { jobs.append(job(name, records[name])) }
  }

  private mutating func job(_ name: String, _ record: JobExecution.Record?) -> PrecedingJob {
    guard let record else {
      let error = "there is no record of it any more; see [Retention] in the configuration"
      return PrecedingJob(id: name, state: nil, result: nil, error: error)
    }
    guard let text = record.result, record.state == .completed else {
      return PrecedingJob(id: name, state: record.state, result: nil, error: record.error)
    }
    let bytes = Array(text.utf8)
    if bytes.count > Self.resultLimit - resultBytes {
      let error = "its result is left out, as the results together are larger than \(Self.resultLimit >> 20) MiB"
      return PrecedingJob(id: name, state: record.state, result: nil, error: error)
    }
    resultBytes += bytes.count
    do throws(JSONError) {
      let result = try JSONValue(parsing: bytes)
      return PrecedingJob(id: name, state: record.state, result: result, error: record.error)
    } catch {
      let error = "its result can't be read: \(error.message)"
      return PrecedingJob(id: name, state: record.state, result: nil, error: error)
    }
  }
}

extension BatchSummary {
  /// Reads the records of a batch.
  package init(ofBatch name: String, in context: isolated ManagedObjectContext) throws {
    let members = try Condition(format: "batch == %@", name)
    var groups = FetchRequest<Job>(members)
    groups.propertiesToGroupBy = ["state"]
    groups.propertiesToFetch = ["state", .count()]
    let counts = try context.fetchDictionaries(groups, includingPendingChanges: true).compactMap { group in
      if case .string(let state) = group["state"], case .integer(let count) = group["count"] {
        JobState(rawValue: state).map { ($0, Int(count)) }
      } else {
        nil
      }
    }
    let ended = FetchRequest<Job>(
      .and([members, try Condition(format: "finishedAt != nil")]), sortBy: [.descending(\.finishedAt)], limit: 1)
    let failed = JobState.allCases.filter(\.isFailure).map(\.rawValue)
    let failures = try context.fetch(
      FetchRequest<Job>(
        .and([members, try Condition(format: "state IN %@", failed)]),
        sortBy: [.ascending(\.createdAt), .ascending(\.id)], limit: Self.failureLimit))
    self.init(
      name: name, counts: Dictionary(counts) { $0 + $1 },
      failures: failures.map { Failure(id: $0.id, error: $0.failure.map(Self.shortened)) },
      lastEnd: try context.fetch(ended).first?.finishedAt)
  }

  /// An error as others are told it, of a thousand characters at most.
  static func shortened(_ error: String) -> String {
    error.count <= 1_000 ? error : error.prefix(999) + "…"
  }
}

extension JobSpecification {
  /// Puts the values of results into the places of the references to them.
  ///
  /// Cost: nothing for a job that comes after no other, and otherwise a fetch if it has references.
  /// - Parameter check: the handler's, for arguments that had references.
  /// - Throws: ``JobFailure`` if a result has no such value or the arguments are wrong with it, ``StoreError``.
  package mutating func resolveReferences(
    in context: isolated ManagedObjectContext, _ check: (JSONValue) throws(JobFileError) -> Void = { _ in }
  ) throws {
    let references = after.isEmpty ? [] : ResultReference.all(in: arguments)
    if references.isEmpty { return }
    var results: [String: JSONValue] = [:]
    let records = try JobExecution.records(of: Array(Set(references.map(\.job))), in: context)
    for reference in references where results[reference.job] == nil {
      results[reference.job] = try Self.result(records[reference.job], for: reference)
    }
    arguments = try ResultReference.replacing(in: arguments) { reference in
      try reference.value(in: results[reference.job] ?? .null)
    }
    do throws(JobFileError) { try check(arguments) } catch {
      throw JobFailure("the arguments are wrong with the results of other jobs: \(error)")
    }
  }

  private static func result(
    _ record: JobExecution.Record?, for reference: ResultReference
  ) throws(JobFailure) -> JSONValue {
    guard let record else { throw reference.failure("there is no record of the job \"\(reference.job)\" any more") }
    guard record.state == .completed else {
      throw reference.failure("the job \"\(reference.job)\" is \(record.state), and has no result")
    }
    do throws(JSONError) { return try JSONValue(parsing: Array((record.result ?? "null").utf8)) } catch {
      throw reference.failure("the result of the job \"\(reference.job)\" can't be read: \(error.message)")
    }
  }
}
