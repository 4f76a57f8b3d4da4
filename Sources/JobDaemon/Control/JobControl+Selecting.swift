import JobSchedule
import Jobs
import ObjectGraph

/// Commands, for all jobs of a selection.
extension JobControl {
  /// The outcome of a command for the jobs that a selection matched.
  struct Outcome: Sendable {
    /// The most jobs that are told one by one.
    private static let toldLimit = 1_000

    /// The number of jobs that matched.
    let matched: Int
    /// The number of jobs by what became of them.
    private(set) var counts: [CommandResult: Int] = [:]
    /// The first jobs for which it was not done, and the first of the others.
    private var failed: [(id: String, reply: Reply?)] = []
    private var others: [(id: String, reply: Reply?)] = []

    fileprivate init(matched: Int = 0) { self.matched = matched }

    /// Some jobs, those first for which it was not done; without replies if nothing was to be done.
    var told: [(id: String, reply: Reply?)] { Array((failed + others).prefix(Self.toldLimit)) }

    /// Notes what became of a job.
    ///
    /// - Parameters:
    ///   - id: nil for one that was removed meanwhile.
    ///   - reply: nil if nothing was to be done.
    fileprivate mutating func add(_ id: String?, _ reply: Reply?) {
      if let reply { counts[CommandResult(reply), default: 0] += 1 }
      guard let id else { return }
      if reply == nil || reply == .done {
        if others.count < Self.toldLimit { others.append((id, reply)) }
      } else if failed.count < Self.toldLimit {
        failed.append((id, reply))
      }
    }
  }

  /// The kinds of replies.
  enum CommandResult: Sendable { case done, notPossible, reverting, replacing }

  private typealias Answer<Value> = @Sendable (Result<Value, any Error>) -> Void

  /// Carries a command out for all jobs that a selection matches, and calls back with what became of them.
  ///
  /// - Parameter isTrial: true to find the jobs only.
  func perform(
    _ command: Command, onAll selection: JobSelection, by changer: JobChanger, isTrial: Bool,
    _ answer: @escaping @Sendable (Result<Outcome, any Error>) -> Void
  ) {
    guard var selection = changer.part(of: selection) else { return enqueue(answer) { Outcome() } }
    // What is not over can't be deleted, so that nobody has to say so.
    if command == .delete, selection.states.isEmpty { selection.states = Set(JobState.allCases.filter(\.isFinal)) }
    guard let start = selection.start else { return enqueue(answer) { Outcome() } }
    find(selection, from: start, adding: []) { [self] found in
      switch found {
      case .success(let jobs):
        let order = isTrial ? nil : TimedCommand(command)
        perform(order, onNext: jobs[...], adding: Outcome(matched: jobs.count), answer: answer)
      case .failure(let error): answer(.failure(error))
      }
    }
  }

  /// Finds all jobs of a selection, page by page, between which others' commands have their turn.
  private func find(
    _ selection: JobSelection, from place: JobSelection.Place, adding found: [JobSelection.Found],
    answer: @escaping Answer<[JobSelection.Found]>
  ) {
    enqueue({ [self] (page: Result<(found: [JobSelection.Found], next: JobSelection.Place?), any Error>) in
      switch page {
      case .failure(let error): answer(.failure(error))
      case .success((let more, let next?)): find(selection, from: next, adding: found + more, answer: answer)
      case .success((let more, nil)): answer(.success(found + more))
      }
    }) { [self] in
      try context().performAndWait { [engine] in try selection.next(from: place, engine.unfinished, $0) }
    }
  }

  /// Jobs of a selection that are processed before others' commands have their turn.
  private static let sliceSize = 1_000

  /// - Parameter order: nil if nothing is to be done.
  private func perform(
    _ order: TimedCommand?, onNext jobs: ArraySlice<JobSelection.Found>, adding outcome: Outcome,
    answer: @escaping Answer<Outcome>
  ) {
    let slice = jobs.prefix(Self.sliceSize)
    enqueue({ [self] (replies: Result<[(id: String?, reply: Reply?)], any Error>) in
      var outcome = outcome
      do { for (id, reply) in try replies.get() { outcome.add(id, reply) } } catch { return answer(.failure(error)) }
      // A trial tells the first ones.
      let rest = order == nil ? [] : jobs.dropFirst(Self.sliceSize)
      if rest.isEmpty {
        answer(.success(outcome))
      } else {
        perform(order, onNext: rest, adding: outcome, answer: answer)
      }
    }) { [self] in
      // First of all: a job that is deleted has no ID any more.
      let ids = try context().performAndWait { context in
        let found = try context.fetch(FetchRequest<Job>(objectIDs: slice.map(\.objectID)))
        return Dictionary(found.map { ($0.objectID, $0.id) }) { id, _ in id }
      }
      let replies: [Reply?] = try order.map { try perform($0, slice) } ?? slice.map { _ in nil }
      return zip(slice, replies).map { (ids[$0.objectID], $1) }
    }
  }

  private func perform(_ order: TimedCommand, _ jobs: ArraySlice<JobSelection.Found>) throws -> [Reply] {
    if let membership = engine.membership {
      return try perform(order.command, jobs.map(\.objectID), on: membership)
    }
    guard case .cancel(let reason) = order.command else { return try jobs.map { try perform(order, $0) } }
    // Together, so that they are on record at once; quarantined ones are reverted one by one.
    let others = jobs.filter { $0.state != .quarantined }
    let ended = try cancelAll(others.map { ($0.objectID, reason) })
    return try jobs.map { job -> Reply in
      if ended.contains(job.objectID) { return .done }
      return try perform(order, job)
    }
  }

  private func perform(_ order: TimedCommand, _ job: JobSelection.Found) throws -> Reply {
    let reply = try perform(order, job.objectID, recorded: job.state)
    // It went with one that it waited for.
    if case .impossible(.cancelled) = reply, order.command.isCancel, !job.state.isFinal { return .done }
    return reply
  }
}

extension JobControl.CommandResult {
  fileprivate init(_ reply: JobControl.Reply) {
    self =
      switch reply {
      case .done: .done
      case .reverting: .reverting
      case .replacing: .replacing
      case .unknown, .impossible, .keyTaken, .ambiguous, .needed, .awaited, .foreign: .notPossible
      }
  }
}
