/// What a peer of a Unix socket is to the service, which decides how many places it gets.
package enum PeerStanding: Sendable, Hashable, CaseIterable {
  /// Runs the service: has places that nobody else gets, and no limit of its own.
  case owner
  /// Uses the service.
  case user
  /// May do next to nothing: gets few places, and all of its kind together no more than a part of them.
  case stranger
}
