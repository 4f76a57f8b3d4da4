import JobSchedule
import Jobs
import ObjectGraph

/// Commands, for all jobs of a selection.
extension JobControl {
  /// The outcome of a command for the jobs that a selection matched.
  struct Outcome: Sendable {
    /// The most jobs that are told one by one.
    static let toldLimit = 1_000

    /// The number of jobs that matched.
    var matched = 0
    /// The number of jobs by what became of them.
    var counts: [CommandResult: Int] = [:]
    /// The first jobs, with their IDs, which are empty for those that were removed meanwhile; without replies if nothing
    /// was to be done.
    var told: [(id: String, reply: Reply?)] = []
  }

  /// The kinds of replies.
  enum CommandResult: Sendable { case done, notPossible, reverting, replacing }

  private typealias Answer<Value> = @Sendable (Result<Value, any Error>) -> Void

  /// Carries a command out for all jobs that a selection matches, and calls back with what became of them.
  ///
  /// - Parameter isTrial: true to find the jobs only.
  func perform(
    _ command: Command, onAll selection: JobSelection, isTrial: Bool,
    _ answer: @escaping @Sendable (Result<Outcome, any Error>) -> Void
  ) {
    var selection = selection
    // What is not over can't be deleted, so that nobody has to say so.
    if command == .delete, selection.states.isEmpty { selection.states = Set(JobState.allCases.filter(\.isFinal)) }
    find(selection, behind: .min, adding: []) { [self] found in
      switch found {
      case .success(let found): begin(command, on: found, isTrial: isTrial, answer)
      case .failure(let error): answer(.failure(error))
      }
    }
  }

  /// Finds all jobs of a selection, page by page, between which others' commands have their turn.
  private func find(
    _ selection: JobSelection, behind key: Int64, adding found: [JobSelection.Found],
    answer: @escaping Answer<[JobSelection.Found]>
  ) {
    enqueue({ [self] (page: Result<(found: [JobSelection.Found], next: Int64?), any Error>) in
      guard case .success(let page) = page, let next = page.next else {
        return enqueue(answer) { [self] in
          try found + page.get().found + context().performAndWait { try selection.findFinal($0) }
        }
      }
      find(selection, behind: next, adding: found + page.found, answer: answer)
    }) { [self] in
      try context().performAndWait { [engine] in try selection.nextUnfinished(after: key, engine.unfinished, $0) }
    }
  }

  /// Notes the IDs first: a job that is deleted has none any more.
  private func begin(
    _ command: Command, on jobs: [JobSelection.Found], isTrial: Bool, _ answer: @escaping Answer<Outcome>
  ) {
    enqueue({ [self] (outcome: Result<Outcome, any Error>) in
      guard case .success(let outcome) = outcome, !isTrial else { return answer(outcome) }
      perform(TimedCommand(command), onNext: jobs[...], adding: outcome, answer: answer)
    }) { [self] in
      let first = jobs.prefix(Outcome.toldLimit).map(\.objectID)
      let ids = try context().performAndWait { context in
        Dictionary(try context.fetch(FetchRequest<Job>(objectIDs: first)).map { ($0.objectID, $0.id) }) { id, _ in id }
      }
      return Outcome(matched: jobs.count, told: first.map { (ids[$0] ?? "", nil) })
    }
  }

  /// Jobs of a selection that are processed before others' commands have their turn.
  private static let sliceSize = 1_000

  private func perform(
    _ order: TimedCommand, onNext jobs: ArraySlice<JobSelection.Found>, adding outcome: Outcome,
    answer: @escaping Answer<Outcome>
  ) {
    let rest = jobs.dropFirst(Self.sliceSize)
    enqueue({ [self] (replies: Result<[Reply], any Error>) in
      var outcome = outcome
      switch replies {
      case .failure(let error): return answer(.failure(error))
      case .success(let replies):
        for (index, reply) in zip(jobs.indices, replies) {
          outcome.counts[CommandResult(reply), default: 0] += 1
          if outcome.told.indices.contains(index) { outcome.told[index].reply = reply }
        }
      }
      if rest.isEmpty {
        answer(.success(outcome))
      } else {
        perform(order, onNext: rest, adding: outcome, answer: answer)
      }
    }) { [self] in
      let slice = jobs.prefix(Self.sliceSize)
      if let membership = engine.membership {
        return try perform(order.command, slice.map(\.objectID), on: membership)
      }
      guard case .cancel(let reason) = order.command else { return try slice.map { try perform(order, $0) } }
      // Together, so that they are on record at once; quarantined ones are reverted one by one.
      let others = slice.filter { $0.state != .quarantined }
      let ended = try cancelAll(others.map { ($0.objectID, reason) })
      return try slice.map { job -> Reply in
        if ended.contains(job.objectID) { return .done }
        return try perform(order, job)
      }
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
      case .unknown, .impossible, .keyTaken, .ambiguous, .needed: .notPossible
      }
  }
}
