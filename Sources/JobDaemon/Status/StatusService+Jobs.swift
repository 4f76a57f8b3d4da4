import Foundation
import HTTPService
import JSONText
import Jobs
import ObjectGraph
import StatusReplies
import SystemSupport

/// Requests that list jobs and show one.
extension StatusService {
  func addJobs(to router: inout GuardedRouter) {
    router.on(
      .get, "/v1/jobs", needs: .reading,
      as: .init(
        "Jobs, newest first", .reply(JobsReply.self),
        query: JobSelection.query + [
          .choice("order", of: JobOrder.allCases.map(\.rawValue), "Which jobs come first; the newest without it"),
          .integer("limit", in: 1...10_000, "At most so many; 100 without it"),
          .text("cursor", "The `next` of the page before"),
          .choice("counts", of: ["true", "false"], "Adds the number of jobs by state"),
        ])
    ) { request, _ in self.jobs(request) }
    router.on(
      .get, "/v1/jobs/:id", needs: .reading,
      as: .init("All about one job", .reply(JobReply.self), refusals: [404, 409])
    ) { request, parameters in self.job(parameters["id"], request) }
    router.on(.post, "/v1/jobs", needs: .submitting, as: SubmissionTerms.description) { request, _ in
      self.submit(request)
    }
  }

  private func jobs(_ request: HTTPRequest) -> HTTPReply {
    let listing: JobListing
    do throws(JobFileError) { listing = try Self.listing(request) } catch {
      return .now(.failure(400, code: "bad-request", message: error.description))
    }
    return read(request, within: Self.countTime) { context, daemon in
      let page = try listing.page(context, daemon.engine.unfinished)
      var body = try Self.list(page.jobs, context, daemon: daemon, states: page.states)
      let next = page.next.map { JobCursor(order: listing.order, position: $0, count: page.count).text }
      body.append(contentsOf: ",\"next\":\(next.map { "\"\($0)\"" } ?? "null")".utf8)
      body.append(contentsOf: ",\"count\":\(page.count.number),\"atLeast\":\(page.count.isAtLeast)".utf8)
      if listing.countsStates {
        let counts = try listing.selection.counts(context, daemon.engine.unfinished)
        let json = JSONValue.counts(counts.byName)
        body.append(contentsOf: ",\"counts\":\(json.serialized()),\"countsAtLeast\":\(counts.isAtLeast)".utf8)
      }
      body.append(UInt8(ascii: "}"))
      return .json(data: body)
    }
  }

  /// Reads what is to be listed.
  private static func listing(_ request: HTTPRequest) throws(JobFileError) -> JobListing {
    guard let limit = Int(request.query("limit") ?? "100"), (1...10_000).contains(limit) else {
      throw JobFileError("must be a number from 1 to 10000", key: "limit")
    }
    guard let order = JobOrder(rawValue: request.query("order") ?? JobOrder.newest.rawValue) else {
      throw JobFileError("must be newest or oldest", key: "order")
    }
    guard let countsStates = Bool(request.query("counts") ?? "false") else {
      throw JobFileError("must be true or false", key: "counts")
    }
    var listing = JobListing(
      selection: try JobSelection(query: request), order: order, limit: limit, countsStates: countsStates)
    if let text = request.query("cursor") {
      guard let cursor = JobCursor(text), cursor.order == order else {
        throw JobFileError("must be the \"next\" of a list in the same order", key: "cursor")
      }
      listing.cursor = cursor
    }
    return listing
  }

  private func job(_ id: String, _ request: HTTPRequest) -> HTTPReply {
    read(request) { context, daemon in
      guard let job = try JobHandle(text: id).job(in: context) else { return Self.noJob(id) }
      var look = LiveLook(daemon)
      let live = try look.views(of: [job])[job.objectID]
      var reply = JobReply(job, live: live, withArguments: true)
      let runs = try Self.earlierRuns(of: job, in: context)
      if !runs.isEmpty { reply.earlierRuns = runs }
      if let handler = daemon.handlers[job.type] as? any OwnHandler {
        reply.rejects = try handler.rejectCount(of: job, in: context).map(JSONValue.integer)
      }
      return Self.json(reply.json)
    }
  }
}
