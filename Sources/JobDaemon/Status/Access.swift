import Configuration
import Glibc
import HTTPService
import SystemSupport

/// The rights of a peer of the socket: root and the daemon's user have all, the group `bobbin` submits jobs and changes its
/// own ones, others have what is configured.
struct Access {
  /// The groups by which rights are told.
  struct Groups: Sendable {
    /// Finds the group whose members may submit jobs and change their own ones; nil if there is none.
    var members: @Sendable () -> UInt32? = { number(of: "bobbin") }
    /// The name of the group whose members control the daemon and the jobs of all; empty for none.
    var controllers = ""

    /// Without an answer from the user database nobody is a member.
    fileprivate static func number(of group: String) -> UInt32? { (try? UserDatabase.group(named: group)) ?? nil }
  }

  private let peer: PeerCredentials?
  private let groups: Groups

  /// - Parameter peer: nil for a peer without credentials from the kernel.
  init(_ peer: PeerCredentials?, _ groups: Groups) { (self.peer, self.groups) = (peer, groups) }

  /// The peer's standing with the server, which limits connections by it.
  var standing: PeerStanding { isOwner ? .owner : isMember ? .user : .stranger }

  var maySubmit: Bool { isOwner || isMember }

  /// True if it may pause and drain, and change the jobs of all users.
  var mayControl: Bool { isOwner || isController }

  func mayRead(_ access: ReadAccess) -> Bool {
    switch access {
    case .everyone: true
    case .group: isOwner || isMember
    case .owner: isOwner
    }
  }

  var isOwner: Bool { peer.map { $0.user == 0 || $0.user == Credentials.effectiveUser } ?? false }

  private var isMember: Bool { belongs(to: groups.members()) || isController }

  private var isController: Bool {
    !groups.controllers.isEmpty && belongs(to: Groups.number(of: groups.controllers))
  }

  /// True if the group is one of the peer's own, or one that the user database lists its user in.
  private func belongs(to group: UInt32?) -> Bool {
    guard let peer, let group else { return false }
    if peer.group == group || peer.groups.contains(group) { return true }
    // Without an answer from the user database, access is denied.
    return (try? UserIdentity(lookingUp: peer.user))?.groups.contains(group) ?? false
  }
}

/// A router whose routes each name the right that their requests need, and say what they are for; it logs those that change
/// something.
struct GuardedRouter {
  /// A right that a peer may have.
  enum Right: Sendable, CaseIterable {
    case nothing, reading, readingObjects, submitting
    /// To change jobs, at least one's own.
    case changing
    /// To change what affects everybody's jobs.
    case controlling
  }

  /// The decision about a request, before any handler sees it.
  enum Authorization {
    /// It goes on, with what is known of its client by then.
    case granted(HTTPRequest)
    case refused(HTTPResponse)
  }

  private(set) var router = Router()
  /// The routes as clients are told of them, in the order in which they were added.
  private(set) var table: [OpenAPIDocument.Route] = []
  private let authorize: @Sendable (Right, HTTPRequest) -> Authorization
  private let log: ChangeLog

  /// - Parameter authorize: refuses a request whose client does not have the right.
  init(authorize: @escaping @Sendable (Right, HTTPRequest) -> Authorization, log: ChangeLog) {
    (self.authorize, self.log) = (authorize, log)
  }

  /// Adds a route whose handler is only called for clients with the right.
  ///
  /// - Parameter tellsBody: false if the body of a change does not belong into the log.
  mutating func on(
    _ method: HTTPMethod, _ pattern: String, needs right: Right, as description: RouteDescription,
    tellsBody: Bool = true, handler: @escaping Router.Handler
  ) {
    table.append((method, pattern, right, description))
    // The page and what watchers ask for may come with items of others.
    let isPartOfContract = pattern.hasPrefix("/v1/")
    router.on(method, pattern) { [authorize, log] request, parameters in
      switch authorize(right, request) {
      case .refused(let response): return .now(response)
      case .granted(let request):
        if isPartOfContract, let problem = description.problem(of: request.target.queryItems) {
          return .now(.failure(400, code: "bad-request", message: problem))
        }
        let reply = handler(request, parameters)
        switch right {
        case .nothing, .reading, .readingObjects: return reply
        case .submitting, .changing, .controlling:
          // Without its body, which may be large and is not kept until the reply.
          let change = ChangeLog.Change(request, isSubmission: right == .submitting, tellsBody: tellsBody)
          return reply.observed { log.note(change, $0) }
        }
      }
    }
  }
}
