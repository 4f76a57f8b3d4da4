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
    router.on(.get, "/v1/fleet", needs: .reading) { request, _ in self.fleet(request) }
    for (name, isDrained) in [("drain", true), ("undrain", false)] {
      router.on(.post, "/v1/fleet/" + name, needs: .changing) { request, _ in
        self.changing(request) { (body, _, responder) throws(JobFileError) in
          try self.setDrained(isDrained, body, responder: responder)
        }
      }
    }
    router.on(.post, "/v1/fleet/remove", needs: .changing) { request, _ in
      self.changing(request) { (body, _, responder) throws(JobFileError) in
        try self.remove(body, responder: responder)
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
        return Self.json(FleetReply(try membership.reader().overview(), host: membership.number ?? 0).json)
      } catch { return Self.away(error) }
    }
  }

  private static func away(_ error: StoreError) -> HTTPResponse {
    .failure(503, code: "away", message: "the database of the fleet does not answer: \(error)")
  }

  private func setDrained(_ isDrained: Bool, _ body: JSONValue, responder: HTTPResponder) throws(JobFileError) {
    let reader = try ArgumentReader(body, path: "")
    try reader.allow(["host"])
    daemon.control.setDrained(isDrained, host: try reader.requiredText("host")) { result in
      self.respondAboutHost(responder, result) { HostReply(spool: $0, isDrained: isDrained) }
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
      self.respondAboutHost(responder, result) { HostReply(spool: $0.root, jobs: $0.jobs) }
    }
  }

  private func respondAboutHost<Value>(
    _ responder: HTTPResponder, _ result: Result<Value, any Error>, reply: (Value) -> HostReply
  ) {
    switch result {
    case .failure(let error as HostRefusal): _ = responder.respond(Self.response(to: error))
    case .failure(let error as StoreError): _ = responder.respond(Self.away(error))
    default: respond(responder, result) { reply($0).json }
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
    }
  }
}
