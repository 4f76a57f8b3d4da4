import Foundation
import Jobs
import ObjectGraph
import SystemSupport

/// A handle by which people name a job: its ID, the beginning of an ID that no other has, or the name of its file.
struct JobHandle {
  /// A handle that several jobs have.
  struct Ambiguous: Error, Equatable {
    let handle: String
    /// The IDs of some of them, in order.
    let ids: [String]
    /// True if there are more.
    var hasMore = false

    /// The jobs in a sentence for people.
    var list: String {
      ids.map { "\"\(displayName($0))\"" }.joined(separator: ", ") + (hasMore ? ", and others" : "")
    }
  }

  private static let candidateLimit = 5
  let text: String

  /// Finds the job that a command is meant for; nil if there is none.
  ///
  /// Of IDs that people have made the beginning does not do: `order-1` may be the whole ID of a job that was removed, and is
  /// the beginning of `order-10`.
  func jobToChange(in context: isolated ManagedObjectContext, byFile: Bool = true) throws -> Job? {
    guard let job = try job(in: context, byFile: byFile) else { return nil }
    let isExact = job.id == text || job.file.map { Submitter.isFile($0, named: text) } == true
    return isExact || Self.isMadeByDaemon(job) ? job : nil
  }

  /// True if the daemon has made the job's ID: its record says so, or it has the long form, which older releases, fleets
  /// and hot folders do not mark.
  private static func isMadeByDaemon(_ job: Job) -> Bool {
    // Of a record that can't be read nothing is known.
    let specification = try? JobSpecification(record: job, withArguments: false)
    return specification?.madeOf != nil || job.id.firstMatch(of: /-[0-9a-f]{16}(?:[#.].*)?$/) != nil
  }

  /// Finds the job; nil if there is none.
  ///
  /// A whole ID and the beginning of one are found by an index; only what is neither is looked for among all files' names.
  /// - Parameter byFile: false to leave those out.
  /// - Throws: ``Ambiguous``, and the store's errors.
  func job(in context: isolated ManagedObjectContext, byFile: Bool = true) throws -> Job? {
    let text = text
    if let job = try context.fetch(FetchRequest<Job>(#Predicate { $0.id == text }, limit: 1)).first { return job }
    if text.isEmpty { return nil }
    let limit = Self.candidateLimit + 1
    let isBeginning = try Condition(format: "id BEGINSWITH %@", text)
    if let job = try only(context.fetch(FetchRequest<Job>(isBeginning, limit: limit))) { return job }
    if !byFile { return nil }
    return try only(context.fetch(FetchRequest<Job>(try Submitter.condition(onFileNamed: text), limit: limit)))
  }

  private func only(_ found: [Job]) throws(Ambiguous) -> Job? {
    if found.count <= 1 { return found.first }
    let ids = found.map(\.id).sorted().prefix(Self.candidateLimit)
    throw Ambiguous(handle: text, ids: Array(ids), hasMore: found.count > ids.count)
  }
}
