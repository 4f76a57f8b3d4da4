/// The standing of a Unix socket's peer, which decides how many connections it gets.
package enum PeerStanding: Sendable, Hashable, CaseIterable {
  /// Runs the service: has reserved connections, and no limit of its own.
  case owner
  /// Uses the service.
  case user
  /// May do next to nothing: gets few connections, and all strangers together only a part of them.
  case stranger
}
