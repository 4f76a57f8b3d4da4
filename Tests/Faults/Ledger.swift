import Synchronization

/// What was submitted, and what the daemon has said about it; what is found on disk is compared with it.
final class Ledger: Sendable {
  private struct State {
    var expected: [String: ExpectedJob] = [:]
    /// Their IDs, in the order in which they were submitted.
    var order: [String] = []
    /// Jobs that the daemon has told to be durable, with the state that it told.
    var durable: [String: String] = [:]
    /// Submissions of which nobody knows whether they were accepted; to be sent again.
    var doubtful: [ExpectedFile] = []
  }

  /// What was ordered about them.
  let orders = OrderBook()
  /// Whether the times in the store can be compared with each other and with the machine's.
  private let comparesTimes: Bool
  private let state = Mutex(State())

  init(comparesTimes: Bool = true) { self.comparesTimes = comparesTimes }

  /// What was submitted, in order.
  var jobs: [ExpectedJob] { state.withLock { state in state.order.compactMap { state.expected[$0] } } }
  var jobCount: Int { state.withLock { $0.expected.count } }
  var durableCount: Int { state.withLock { $0.durable.count } }

  /// Notes jobs that must come to their end from now on.
  func expect(_ file: ExpectedFile) {
    state.withLock { state in
      for job in file.jobs where state.expected[job.id] == nil {
        state.expected[job.id] = job
        state.order.append(job.id)
      }
    }
  }

  /// Notes that the daemon has told a job to be durable.
  func noteDurable(_ id: String, _ told: String) { state.withLock { $0.durable[id] = told } }

  /// Notes that a submission was cut short.
  func doubt(_ file: ExpectedFile) {
    state.withLock { state in
      state.doubtful.append(file)
      for job in file.jobs where !job.isNamed { state.expected[job.id]?.copies += 1 }
    }
  }

  /// The submissions to be sent again.
  func drainDoubtful() -> [ExpectedFile] {
    state.withLock { state in
      defer { state.doubtful = [] }
      return state.doubtful
    }
  }

  /// What is wrong with what was found on disk, once all work is done.
  func problems(with found: Findings) -> [Problem] {
    let (expected, durable) = state.withLock { ($0.expected, $0.durable) }
    var problems: [Problem] = []
    let states = found.jobs.mapValues(\.state)
    for job in expected.values.sorted(by: { $0.id < $1.id }) {
      var job = orders.expectation(job, states: states)
      if !comparesTimes { (job.after, job.notBefore) = ([], nil) }
      problems += found.problems(with: job)
    }
    for (id, told) in durable where found.jobs[id]?.state != told && !mayHaveChanged(id, since: told) {
      let now = found.jobs[id]?.state ?? "nothing"
      problems.append(Problem(kind: .loss, description: "\(id) was told to be durable and \(told), and is \(now)"))
    }
    for id in found.jobs.keys.sorted() where expected[id] == nil {
      problems.append(Problem(kind: .repetition, description: "nobody submitted \(id)"))
    }
    return problems + found.problems
  }

  /// Whether an order may have given a job that was over another end.
  private func mayHaveChanged(_ id: String, since told: String) -> Bool {
    let standing = orders.standing(of: id)
    return standing.revived.contains(true) || (told == "quarantined" && standing.ends.contains(.cancelled))
  }
}
