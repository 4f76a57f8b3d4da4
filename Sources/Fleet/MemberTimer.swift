/// A timer of a member, by which a ``MemberAction/wake(_:after:)`` comes back as an event; there is one of each.
package enum MemberTimer: Hashable, Sendable {
  case beat
  case retry(MemberChannel)
  case round
  case candidacy
  case lease

  /// The timer of an event; nil for one that no timer brings.
  package init?(_ event: MemberEvent) {
    switch event {
    case .beatDue: self = .beat
    case .retryDue(let channel): self = .retry(channel)
    case .roundDue: self = .round
    case .candidacyDue: self = .candidacy
    case .leaseDue: self = .lease
    default: return nil
    }
  }

  /// The event that it brings.
  package var event: MemberEvent {
    switch self {
    case .beat: .beatDue
    case .retry(let channel): .retryDue(channel)
    case .round: .roundDue
    case .candidacy: .candidacyDue
    case .lease: .leaseDue
    }
  }
}
