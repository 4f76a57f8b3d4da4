import Configuration
import Glibc
import SystemSupport

/// What a peer of the socket may do: root, the daemon's user and the group `bobbin` everything, others what is configured.
struct Access {
  private static let groupName = "bobbin"
  private let peer: PeerCredentials?

  /// - Parameter peer: nil for a peer that the kernel does not vouch for.
  init(_ peer: PeerCredentials?) { self.peer = peer }

  var maySubmit: Bool { isOwner || isMember }

  func mayRead(_ access: ReadAccess) -> Bool {
    switch access {
    case .everyone: true
    case .group: isOwner || isMember
    case .owner: isOwner
    }
  }

  private var isOwner: Bool { peer.map { $0.user == 0 || $0.user == Credentials.effectiveUser } ?? false }

  /// Whether the group is the peer's own, or one that the user database lists it in.
  private var isMember: Bool {
    guard let peer, let group = Self.group(named: Self.groupName) else { return false }
    if peer.group == group { return true }
    // Without an answer from the user database nobody is let in.
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
