import Configuration
import HTTPService
import JSONText
import JobSchedule
import StatusReplies
import SystemSupport

/// Clients, and what they may do.
extension StatusService {
  func addAccess(to router: inout GuardedRouter) {
    router.on(
      .get, "/v1/whoami", needs: .reading, as: .init("Who asks, and what that one may do", .reply(WhoAmIReply.self))
    ) { request, _ in .now(Self.json(self.whoIs(request.client).json)) }
  }

  private func whoIs(_ client: HTTPClient) -> WhoAmIReply {
    let role = role(of: client)
    let mayChangeOwn = role == .submit && client.token == nil
    let changes = role == .control ? "all" : mayChangeOwn ? "own" : "none"
    let edits =
      switch changer(client) {
      case .owner: "all"
      case .controller: "own"
      case .submitter: changes
      }
    return WhoAmIReply(
      name: client.name, user: client.credentials.map { Int($0.user) }, role: role.rawValue, changes: changes,
      edits: edits, via: client.address == nil ? "unix" : "tcp")
  }

  /// The client as one who has jobs changed.
  func changer(_ client: HTTPClient) -> JobChanger {
    let user = client.credentials?.user
    if client.token != nil { return role(of: client) == .control ? .controller(as: user) : .submitter(user) }
    let access = access(client.credentials)
    return access.isOwner ? .owner : access.mayControl ? .controller(as: user) : .submitter(user)
  }

  /// The standing of a Unix socket's peer with the server, which limits connections by it.
  func standing(_ peer: PeerCredentials) -> PeerStanding { access(peer).standing }

  /// True if the client has the rights of root or of the daemon's user; a token never gives them.
  func isOwner(_ client: HTTPClient) -> Bool { client.address == nil && access(client.credentials).isOwner }

  private func access(_ peer: PeerCredentials?) -> Access { Access(peer, accessGroups) }

  /// The role of a client who may read.
  private func role(of client: HTTPClient) -> AccessRole {
    if let token = client.token { return gate.role(ofToken: token) ?? .read }
    let access = access(client.credentials)
    return access.mayControl ? .control : access.maySubmit ? .submit : .read
  }

  /// Lets a request through, as that of whoever its token stands for, or refuses it.
  func authorize(_ right: GuardedRouter.Right, _ request: HTTPRequest) -> GuardedRouter.Authorization {
    if let refusal = BrowserOrigin.refusal(of: request, hosts: daemon.configuration.value.status.hosts) {
      return .refused(refusal)
    }
    if right == .nothing { return .granted(request) }
    guard let address = request.client.address else {
      return refusal(right, access(request.peer)).map { .refused($0) } ?? .granted(request)
    }
    switch gate.judge(request.headers["Authorization"], of: address, at: Moment.now().steady) {
    case .missing: return .refused(Self.unauthorized("a token is needed here", challenge: ""))
    case .wrong(let outcome): return .refused(reply(toWrongTokenOf: address, outcome))
    case .granted(let grant):
      if let needed = right.role, grant.token.role < needed { return .refused(Self.forbidden(grant.token, needed)) }
      var request = request
      request.client = request.client.with(token: grant.token.name, grant.credentials)
      return .granted(request)
    }
  }

  /// True if a request that was let through would be let through now: its very token, or its user, has the right.
  func isStillGranted(_ right: GuardedRouter.Right, _ request: HTTPRequest) -> Bool {
    if request.client.address == nil { return refusal(right, access(request.peer)) == nil }
    guard let grant = gate.grant(to: request.headers["Authorization"]) else { return false }
    return grant.token.name == request.client.token && right.role.map { grant.token.role >= $0 } ?? true
  }

  private func refusal(_ right: GuardedRouter.Right, _ access: Access) -> HTTPResponse? {
    let settings = daemon.configuration.value.status
    let mayRead = access.mayRead(settings.readAccess)
    switch right {
    case .nothing: return nil
    case .reading:
      if mayRead { return nil }
      return .failure(
        403, code: "forbidden", message: "this user may not read the status",
        hint: "an administrator may add the user to the group bobbin, or set [Status] ReadAccess=everyone")
    case .readingObjects:
      if mayRead, access.mayRead(settings.objectAccess) { return nil }
      return .failure(
        403, code: "forbidden", message: "this user may not read objects",
        hint: "an administrator may add the user to the group bobbin, or set [Status] ObjectAccess=everyone")
    case .changing:
      if access.maySubmit { return nil }
      return .failure(
        403, code: "forbidden", message: "this user may not change anything",
        hint: "an administrator may add the user to the group bobbin; it counts from the next login on")
    case .controlling:
      if access.mayControl { return nil }
      return .failure(
        403, code: "forbidden", message: "this user may not change what affects everybody's jobs",
        hint: "ask as root, or have an administrator name a group of yours in [Status] ControlGroup")
    case .submitting:
      if access.maySubmit { return nil }
      return .failure(
        403, code: "forbidden", message: "this user may not submit jobs over the socket",
        hint: "an administrator may add the user to the group bobbin; it counts from the next login on")
    }
  }

  private static func unauthorized(_ message: String, challenge: String) -> HTTPResponse {
    var response = HTTPResponse.failure(
      401, code: "unauthorized", message: message,
      hint: "send \"Authorization: Bearer TOKEN\"; an administrator makes tokens with \"bobbinctl token\"")
    response.headers["WWW-Authenticate"] = "Bearer realm=\"bobbin\"\(challenge)"
    return response
  }

  private static func forbidden(_ token: AccessToken, _ role: AccessRole) -> HTTPResponse {
    .failure(
      403, code: "forbidden",
      message: "the token \(token.name) has the role \(token.role.rawValue), and \(role.rawValue) is needed",
      hint: "an administrator may make another token with \"bobbinctl token NAME \(role.rawValue)\"")
  }

  private func reply(toWrongTokenOf address: ClientAddress, _ outcome: FailedTries.Outcome) -> HTTPResponse {
    let rest = outcome == .last ? "; more of them are not told of for a minute" : ""
    if case .tooMany(let seconds) = outcome {
      var response = HTTPResponse.failure(
        429, code: "too-many-tries", message: "too many wrong tokens came from this address",
        hint: "use a right one, or try again in a minute")
      response.headers["Retry-After"] = "\(seconds)"
      return response
    }
    daemon.log.write(
      .warning, "a wrong token came from \(address)\(rest)", as: .wrongToken,
      fields: [("BOBBIN_ACTOR_ADDRESS", address.description)])
    return Self.unauthorized("the token is not known", challenge: ", error=\"invalid_token\"")
  }
}

extension GuardedRouter.Right {
  /// The role that a token needs for it; nil if any will do, or none.
  fileprivate var role: AccessRole? {
    switch self {
    case .nothing: nil
    case .reading, .readingObjects: .read
    case .submitting: .submit
    case .changing, .controlling: .control
    }
  }
}

extension HTTPClient {
  /// The user's number or the token's name.
  fileprivate var name: String { token ?? credentials.map { "\($0.user)" } ?? "" }

  /// The user or token, for records that outlive its process and its address.
  var shortWords: String { token.map { "the token \($0)" } ?? "user \(name)" }

  /// The same, with the user's name if the user database knows it.
  var wordsWithName: String {
    guard token == nil, let user = credentials?.user, let name = (try? UserIdentity(lookingUp: user))?.name else {
      return shortWords
    }
    return "user \(displayName(name)) (\(user))"
  }

  /// The user or token, and where it is, for people.
  var words: String {
    let rest = address?.description ?? credentials.map { "process \($0.processID)" } ?? "unknown"
    return "\(shortWords) (\(rest))"
  }

  /// The same for the journal.
  var fields: [(String, String)] {
    var fields: [(String, String)] = []
    if let token {
      fields.append(("BOBBIN_ACTOR", "token:\(token)"))
    } else if let credentials {
      fields += [("BOBBIN_ACTOR", "user:\(credentials.user)"), ("BOBBIN_ACTOR_PID", "\(credentials.processID)")]
    }
    if let address { fields.append(("BOBBIN_ACTOR_ADDRESS", address.description)) }
    return fields
  }
}
