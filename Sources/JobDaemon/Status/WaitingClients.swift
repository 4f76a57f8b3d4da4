import Synchronization

/// The clients that wait for jobs, limited so that connections are left for those who would resume the jobs.
final class WaitingClients: Sendable {
  private struct State {
    var others = 0
    var owners = 0
    var byUser: [UInt32: Int] = [:]
  }

  private let state = Mutex(State())

  /// Counts a client that is about to wait; nil if too many are waiting.
  ///
  /// - Parameters:
  ///   - user: the client's user; the owner's clients are counted separately, so that nobody else uses up their places.
  ///   - limits: the limits of connections in all, and of each user.
  func enter(_ user: UInt32, isOwner: Bool, of limits: (all: Int, perUser: Int)) -> Place? {
    let isCounted = state.withLock { state in
      if isOwner {
        guard state.owners < Self.share(of: limits.all) else { return false }
        state.owners += 1
        return true
      }
      let count = state.byUser[user] ?? 0
      guard state.others < Self.share(of: limits.all), count < Self.share(of: limits.perUser) else { return false }
      state.others += 1
      state.byUser[user] = count + 1
      return true
    }
    return isCounted ? Place { [self] in leave(user, isOwner: isOwner) } : nil
  }

  private func leave(_ user: UInt32, isOwner: Bool) {
    state.withLock { state in
      if isOwner { return state.owners -= 1 }
      state.others -= 1
      let count = (state.byUser[user] ?? 1) - 1
      state.byUser[user] = count > 0 ? count : nil
    }
  }

  private static func share(of connections: Int) -> Int { max(1, connections * 3 / 4) }

  /// The place of one waiting client, until it is left or dropped.
  final class Place: Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = Mutex(end) }

    deinit { leave() }

    /// Makes room for another client; later calls do nothing.
    func leave() { end.withLock { $0.take() }?() }
  }
}
