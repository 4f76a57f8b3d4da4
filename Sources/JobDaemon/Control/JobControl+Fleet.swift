import Fleet
import JobSchedule
import Jobs
import ObjectGraph

/// Commands on a fleet: its lead carries them out, and whoever runs a job is told by it.
extension JobControl {
  /// Has the lead carry a command out.
  ///
  /// - Parameter ids: the jobs; nil for one that nobody knows.
  /// - Returns: the replies, in the order of the jobs.
  func perform(_ command: Command, _ ids: [ManagedObjectID?], on membership: Membership) throws -> [Reply] {
    let known = ids.compactMap(\.self)
    if known.isEmpty { return ids.map { _ in .unknown } }
    let targets = try self.targets(command, known)
    guard case .outcomes(let outcomes) = try membership.ask(.command(command, targets)),
      outcomes.count == known.count
    else { throw NoAnswer() }
    var rest = try replies(outcomes)[...]
    return ids.map { id in id == nil ? .unknown : rest.popFirst() ?? .unknown }
  }

  /// The jobs with the attempts that they get if they are put back.
  private func targets(_ command: Command, _ ids: [ManagedObjectID]) throws -> [Order.Target] {
    guard command == .retry || command == .redrive else { return ids.map { Order.Target($0, attempts: 1) } }
    return try context().performAndWait { [engine] context in
      let jobs = try context.fetch(FetchRequest<Job>(objectIDs: ids))
      let attempts = Dictionary(
        try jobs.map { ($0.objectID, try Self.attempts(of: $0, engine)) }
      ) { first, _ in first }
      return ids.map { Order.Target($0, attempts: attempts[$0] ?? 1) }
    }
  }

  private func replies(_ outcomes: [OrderAnswer.Outcome]) throws -> [Reply] {
    try context().performAndWait { context in
      try outcomes.map { outcome in
        switch outcome {
        case .done: .done
        case .unknown: .unknown
        case .impossible(let state): .impossible(state)
        case .keyTaken(let state, let owner): .keyTaken(state, owner: try context.job(with: owner).id)
        }
      }
    }
  }
}
