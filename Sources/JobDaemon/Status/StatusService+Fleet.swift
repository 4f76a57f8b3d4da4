import Foundation
import HTTPService
import JSONText
import Jobs
import ObjectGraph
import PostgresFleet
import StatusReplies

/// Requests about the hosts of a fleet.
extension StatusService {
  func addFleet(to router: inout GuardedRouter) {
    router.on(
      .get, "/v1/fleet", needs: .reading,
      as: .init("The hosts that share a database", .reply(FleetReply.self), refusals: [404])
    ) { request, _ in self.fleet(request) }
    for (name, isDrained) in [("drain", true), ("undrain", false)] {
      router.on(
        .post, "/v1/fleet/" + name, needs: .controlling,
        as: .init(
          isDrained ? "Gives a host no more jobs" : "Gives a drained host jobs again", .reply(HostReply.self),
          body: .object(["host": ["type": "string"]], required: ["host"]), refusals: [404, 409])
      ) { request, _ in
        self.changing(request) { (body, responder) throws(JobFileError) in
          try self.setDrained(isDrained, body, responder: responder)
        }
      }
    }
    router.on(
      .post, "/v1/fleet/remove", needs: .controlling,
      as: .init(
        "Removes a host that is gone for good", .reply(HostReply.self),
        body: .object(
          ["host": ["type": "string"], "jobs": ["type": "string", "enum": ["move", "cancel"]]], required: ["host"]),
        refusals: [404, 409])
    ) { request, _ in
      self.changing(request) { (body, responder) throws(JobFileError) in
        try self.remove(body, responder: responder)
      }
    }
    router.on(
      .post, "/v1/fleet/finish-upgrade", needs: .controlling,
      as: .init(
        "Ends an upgrade of the hosts one by one", .reply(UpgradeReply.self),
        body: .object(["dryRun": ["type": "boolean"]]), refusals: [404, 409])
    ) { request, _ in
      self.changing(request) { (body, responder) throws(JobFileError) in
        try self.finishUpgrade(body, responder: responder)
      }
    }
  }

  private static let noFleet = HTTPResponse.failure(
    404, code: "no-fleet",
    message: "this host keeps its jobs alone: it has a store of its own, and belongs to no fleet",
    hint: "[Store] Url= names the database of a fleet")

  private func fleet(_ request: HTTPRequest) -> HTTPReply {
    guard let membership = daemon.membership else { return .now(Self.noFleet) }
    return read(request) { _, _ in
      do throws(StoreError) {
        let overview = try membership.reader().overview()
        let waiting = Self.waiting(membership)
        return Self.json(FleetReply(overview, waiting: waiting, host: membership.number ?? 0).json)
      } catch { return Self.away(error) }
    }
  }

  /// The numbers of jobs that wait for others and for their time, which the lead knows best; nil if it does not answer soon.
  private static func waiting(_ membership: Membership) -> [JobState: Int]? {
    guard case .resources(let views)? = try? membership.ask(.resources, within: .seconds(1)) else { return nil }
    let counts = views.first { $0.name == .everything }?.counts ?? [:]
    return [.waiting: counts[.waiting] ?? 0, .scheduled: counts[.scheduled] ?? 0]
  }

  private static func away(_ error: StoreError) -> HTTPResponse {
    if error.code == .unavailable { return databaseAway("\(error)") }
    let state = error.code == .busy ? "is busy" : "does not answer"
    return .failure(503, code: "away", message: "the database of the fleet \(state): \(error)")
  }

  private func setDrained(_ isDrained: Bool, _ body: JSONValue, responder: HTTPResponder) throws(JobFileError) {
    let reader = try ArgumentReader(body, path: "")
    try reader.allow(["host"])
    daemon.control.setDrained(isDrained, host: try reader.requiredText("host")) { result in
      self.respondAboutFleet(responder, result) { HostReply(spool: $0, isDrained: isDrained).json }
    }
  }

  private func remove(_ body: JSONValue, responder: HTTPResponder) throws(JobFileError) {
    let reader = try ArgumentReader(body, path: "")
    try reader.allow(["host", "jobs"])
    var fate: HostRemoval.Fate?
    if let name = try reader.text("jobs") {
      fate = HostRemoval.Fate(rawValue: name)
      if fate == nil { throw reader.error("must be \"move\" or \"cancel\", but is \"\(name)\"", "jobs") }
    }
    daemon.control.remove(host: try reader.requiredText("host"), jobs: fate) { result in
      self.respondAboutFleet(responder, result) { HostReply(spool: $0.root, jobs: $0.jobs).json }
    }
  }

  private func finishUpgrade(_ body: JSONValue, responder: HTTPResponder) throws(JobFileError) {
    let reader = try ArgumentReader(body, path: "")
    try reader.allow(["dryRun"])
    let isTrial = try reader.flag("dryRun") ?? false
    daemon.control.finishUpgrade(isTrial: isTrial) { result in
      self.respondAboutFleet(responder, result) { UpgradeReply($0, isTrial: isTrial).json }
    }
  }

  private func respondAboutFleet<Value>(
    _ responder: HTTPResponder, _ result: Result<Value, any Error>, reply: (Value) -> JSONValue
  ) {
    switch result {
    case .failure(let error as HostRefusal): _ = responder.respond(Self.response(to: error))
    case .failure(let error as StoreError): _ = responder.respond(Self.away(error))
    default: respond(responder, result, json: reply)
    }
  }

  private static func response(to refusal: HostRefusal) -> HTTPResponse {
    switch refusal {
    case .noFleet: noFleet
    case .unknown(let name, let known):
      .failure(
        404, code: "no-host", message: "there is no host \"\(name)\" in the fleet",
        hint: "there are \(known.joined(separator: ", "))")
    case .ambiguous(let name, let roots):
      .failure(
        409, code: "ambiguous-host", message: "\"\(name)\" may be \(roots.joined(separator: " or "))",
        hint: "give the number, or the name with the spool")
    case .alive(let root):
      .failure(
        409, code: "host-alive", message: "the host \(root) is alive, or was four seconds ago, and would come back",
        hint: "drain it, wait until it runs nothing, and stop its daemon")
    case .hasJobs(let root, let count):
      .failure(
        409, code: "host-has-jobs",
        message: "only the host \(root) can run \(count == 1 ? "1 unfinished job" : "\(count) unfinished jobs")",
        hint: "--move has any host run them, which needs the same files; --cancel cancels them")
    case .older(let hosts, let format):
      .failure(
        409, code: "older-hosts",
        message: "the fleet stays in format \(format) of its ledger, since these hosts know no newer one: "
          + hosts.map { "\($0.root) (\($0.release))" }.joined(separator: ", "),
        hint: "install the new release there, or stop their daemons")
    }
  }
}
