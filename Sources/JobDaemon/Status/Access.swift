import Configuration
import Glibc
import HTTPService
import SystemSupport

/// The rights of a peer of the socket: root, the daemon's user and the group `bobbin` have all, others what is
/// configured.
struct Access {
  /// The group whose members may submit and change jobs; nil if there is none.
  static var memberGroup: UInt32? { group(named: "bobbin") }

  private let peer: PeerCredentials?
  private let memberGroup: () -> UInt32?

  /// - Parameters:
  ///   - peer: nil for a peer without credentials from the kernel.
  ///   - memberGroup: finds the group of those who may submit and change jobs.
  init(_ peer: PeerCredentials?, memberGroup: @escaping () -> UInt32? = { Self.memberGroup }) {
    self.peer = peer
    self.memberGroup = memberGroup
  }

  /// The peer's standing with the server, which limits connections by it.
  var standing: PeerStanding { isOwner ? .owner : isMember ? .user : .stranger }

  var maySubmit: Bool { isOwner || isMember }

  func mayRead(_ access: ReadAccess) -> Bool {
    switch access {
    case .everyone: true
    case .group: isOwner || isMember
    case .owner: isOwner
    }
  }

  var isOwner: Bool { peer.map { $0.user == 0 || $0.user == Credentials.effectiveUser } ?? false }

  /// True if the group is the peer's own, or one that the user database lists it in.
  private var isMember: Bool {
    guard let peer, let group = memberGroup() else { return false }
    if peer.group == group { return true }
    // Without an answer from the user database, access is denied.
    return (try? UserIdentity(lookingUp: peer.user))?.groups.contains(group) ?? false
  }

  private static func group(named name: String) -> UInt32? {
    var entry = Glibc.group()
    var found: UnsafeMutablePointer<Glibc.group>?
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64 << 10) { buffer in
      getgrnam_r(name, &entry, buffer.baseAddress!, buffer.count, &found) == 0 && found != nil ? entry.gr_gid : nil
    }
  }
}

/// A router whose routes each name the right that their requests need.
struct GuardedRouter {
  /// A right that a peer may have.
  enum Right: Sendable, CaseIterable { case nothing, reading, changing, submitting }

  private(set) var router = Router()
  private let refusal: @Sendable (Right, HTTPRequest) -> HTTPResponse?

  /// - Parameter refusal: the reply to a request whose peer does not have the right; nil if it has.
  init(refusal: @escaping @Sendable (Right, HTTPRequest) -> HTTPResponse?) { self.refusal = refusal }

  /// Adds a route whose handler is only called for peers with the right.
  mutating func on(
    _ method: HTTPMethod, _ pattern: String, needs right: Right, handler: @escaping Router.Handler
  ) {
    router.on(method, pattern) { [refusal] request, parameters in
      refusal(right, request).map { .now($0) } ?? handler(request, parameters)
    }
  }
}
