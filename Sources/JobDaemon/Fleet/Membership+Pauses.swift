import JobSchedule

/// Pauses that hold for the fleet.
extension Membership {
  /// The resources that operators have paused, and the hosts that they have drained, as far as is known.
  var paused: Set<Resource.Name> { knownPauses ?? [] }

  /// The pauses of schedules, which hold on all hosts.
  var schedulePauses: SharedPauses {
    SharedPauses(
      names: { [weak self] in
        self?.knownPauses.map { Set($0.compactMap { if case .schedule(let name) = $0 { name } else { nil } }) }
      },
      set: { [weak self] isPaused, name in
        guard let self else { throw NoAnswer() }
        try setPaused(isPaused, .schedule(name))
      })
  }
}
