import Configuration
import Foundation
import Glibc
import HTTPService
import Jobs
import ObjectGraph
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("Who gets through to which route")
struct RouteRightsTests {
  private static let memberGroup: UInt32 = 4711

  /// What each route needs; one that is missing here has nobody's consent.
  private static let needs: [String: GuardedRouter.Right] = [
    "GET /": .nothing, "GET /page/:name": .nothing,
    "GET /healthz": .nothing, "GET /v1/openapi.json": .nothing, "GET /v1/whoami": .reading, "GET /v1/status": .reading,
    "GET /v1/jobs": .reading,
    "GET /v1/jobs/:id": .reading,
    "GET /v1/jobs/:id/why": .reading, "GET /v1/jobs/:id/attempts": .reading,
    "GET /v1/jobs/:id/rejects": .readingObjects,
    "GET /v1/queues": .reading, "GET /v1/entities": .reading,
    "GET /v1/objects/:entity": .readingObjects, "GET /v1/objects/:entity/:id": .readingObjects,
    "GET /v1/objects/:entity/:id/:attribute": .readingObjects, "GET /v1/explain": .reading, "GET /v1/fleet": .reading,
    "POST /v1/fleet/drain": .controlling, "POST /v1/fleet/undrain": .controlling, "POST /v1/fleet/remove": .controlling,
    "POST /v1/fleet/finish-upgrade": .controlling,
    "GET /v1/batches": .reading, "GET /v1/jobs/:id/relatives": .reading, "GET /v1/types": .reading,
    "GET /v1/configuration": .reading, "GET /v1/folders": .reading, "GET /v1/schedules": .reading,
    "POST /v1/schedules/:name/run": .controlling,
    "POST /v1/schedules/:name/pause": .controlling, "POST /v1/schedules/:name/resume": .controlling,
    "POST /v1/jobs": .submitting, "POST /v1/commands": .changing, "POST /v1/jobs/:id/edit": .changing,
    "POST /v1/pause": .controlling, "POST /v1/resume": .controlling, "POST /v1/flush": .changing,
    "POST /v1/copy": .changing, "GET /metrics": .reading, "GET /v1/samples": .reading,
    "GET /v1/events": .reading,
  ]

  /// A kind of peer.
  enum Peer: CaseIterable {
    case root, daemon, member, stranger, unknown

    var credentials: PeerCredentials? {
      switch self {
      case .root: PeerCredentials(processID: 2, user: 0, group: 0)
      case .daemon: PeerCredentials(processID: 2, user: Credentials.effectiveUser, group: 4009)
      case .member: PeerCredentials(processID: 2, user: 4001, group: RouteRightsTests.memberGroup)
      case .stranger: PeerCredentials(processID: 2, user: 4009, group: 4009)
      case .unknown: nil
      }
    }

    func has(_ right: GuardedRouter.Right, _ access: ReadAccess, _ group: UInt32?) -> Bool {
      let isOwner = self == .root || self == .daemon
      let isMember = self == .member && group != nil
      return switch right {
      case .nothing: true
      // Objects are the group's, whoever may read the rest.
      case .readingObjects: isOwner || (isMember && access != .owner)
      case .reading: isOwner || access == .everyone || (isMember && access == .group)
      case .changing, .submitting: isOwner || isMember
      case .controlling: isOwner
      }
    }
  }

  private static func router(
    _ access: ReadAccess, _ group: UInt32?, gate: AccessGate = AccessGate(), in folder: TemporaryDirectory
  ) throws -> Router {
    let configuration = try Configuration.parse("[Status]\nReadAccess=\(access.rawValue)\n", file: "test")
    let coordinator = PersistentStoreCoordinator(model: try BuiltInModel.merged(withModelsIn: "/nonexistent"))
    try coordinator.open(.inMemory)
    let parts = Daemon.Parts(
      paths: Paths(root: folder.path), configuration: ConfigurationBox(configuration), coordinator: coordinator,
      handlers: [NoopHandler()], log: DaemonLog(journal: Journal(identifier: "test"), level: .error))
    return StatusService(try Daemon(parts) { _ in }, gate: gate) { group }.router()
  }

  @Test("Who is in the group by the user database is a member, whatever group the process has")
  func listedMember() throws {
    // The user that has no rights, as every system has one, with a group of its own.
    let nobody = try UserIdentity(lookingUp: 65_534)
    let peer = PeerCredentials(processID: 2, user: nobody.user, group: 4009)
    #expect(Access(peer, Access.Groups { nobody.primaryGroup }).maySubmit)
    #expect(!Access(peer, Access.Groups { 4711 }).maySubmit)
  }

  @Test(
    "A request with two Host headers is refused, whichever of them is right", arguments: ["localhost", "evil.example"])
  func twoHosts(first: String) throws {
    let router = try Self.router(.everyone, Self.memberGroup, in: try TemporaryDirectory())
    var headers: HTTPHeaders = ["Host": first]
    headers.add("Host", first == "localhost" ? "evil.example" : "localhost")
    let request = HTTPRequest(
      method: .get, target: try #require(HTTPTarget("/v1/status")), headers: headers,
      client: HTTPClient(Peer.root.credentials))
    var status: Int?
    if case .now(let response) = router.reply(to: request) { status = response.status }
    #expect(status == 400)
  }

  @Test(
    "Every route asks clients of TCP for a token, and for its role, whoever its user is", arguments: AccessRole.allCases
  )
  func tokens(role: AccessRole) throws {
    let folder = try TemporaryDirectory()
    let (secret, token) = AccessToken.make("t", role, user: nil)
    // The daemon's own user, which may do everything on the Unix socket.
    let credentials = PeerCredentials(processID: 0, user: Credentials.effectiveUser, group: 0)
    let gate = AccessGate([TokenGrant(token: token, credentials: credentials)])
    let router = try Self.router(.everyone, Self.memberGroup, gate: gate, in: folder)
    var storage = sockaddr_storage()
    storage.ss_family = sa_family_t(AF_INET)
    let address = try #require(ClientAddress(storage))
    for (method, pattern) in router.list {
      let needed = try #require(Self.needs["\(method.rawValue) \(pattern)"])
      let target = try #require(HTTPTarget(pattern.replacing(":id", with: "x")))
      func status(_ authorization: String?) -> Int? {
        var headers: HTTPHeaders = ["Host": "localhost:26224"]
        headers["Authorization"] = authorization
        let request = HTTPRequest(
          method: method, target: target, headers: headers, body: Data(#"{"type": "noop"}"#.utf8),
          client: HTTPClient(address: address))
        if case .now(let response) = router.reply(to: request) { return response.status }
        return nil
      }
      let isPublic = needed == .nothing
      let reached =
        switch needed {
        case .nothing, .reading, .readingObjects: true
        case .submitting: role >= .submit
        case .changing, .controlling: role == .control
        }
      #expect((status("Bearer \(secret)") == 403) == !reached, "\(method.rawValue) \(pattern)")
      for other in [nil, "Bearer bobbin_", "Basic \(secret)", secret] {
        #expect((status(other) == 401 || status(other) == 429) == !isPublic, "\(method.rawValue) \(pattern)")
      }
    }
  }

  @Test(
    "Every route lets through whom it should and turns away everybody else, whoever may read",
    arguments: ReadAccess.allCases, [memberGroup, nil])
  func routes(access: ReadAccess, group: UInt32?) throws {
    let folder = try TemporaryDirectory()
    let router = try Self.router(access, group, in: folder)
    #expect(Set(router.list.map { "\($0.method.rawValue) \($0.pattern)" }) == Set(Self.needs.keys))
    for (method, pattern) in router.list {
      let needed = try #require(Self.needs["\(method.rawValue) \(pattern)"])
      let target = try #require(HTTPTarget(pattern.replacing(":entity", with: "Image").replacing(":id", with: "x")))
      for (peer, asked) in Peer.allCases.flatMap({ peer in [(peer, method), (peer, .head)] })
      where asked == method || method == .get {
        let request = HTTPRequest(
          method: asked, target: target, body: Data(#"{"type": "noop"}"#.utf8),
          client: HTTPClient(peer.credentials))
        var isRefused = false
        if case .now(let response) = router.reply(to: request) { isRefused = response.status == 403 }
        #expect(
          isRefused == !peer.has(needed, access, group), "\(asked.rawValue) \(pattern) as \(peer) under \(access)")
      }
    }
  }
}
