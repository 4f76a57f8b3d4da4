import HTTPService
import Jobs
import SystemSupport

/// Requests of those who follow what happens.
extension StatusService {
  func addEvents(to router: inout GuardedRouter) {
    router.on(
      .get, "/v1/events", needs: .reading,
      as: .init(
        "What becomes of jobs, as it happens", .text("text/event-stream"),
        query: [
          .text("state", "Only jobs in this state, or in one of several with commas between them"),
          .text("type", "Only jobs of this type"), .text("queue", "Only jobs of this queue"),
          .text("batch", "Only jobs of this batch"), .text("id", "Only the job with this ID"),
        ], headers: [.text("Last-Event-ID", "The last event that the client has, behind which to go on")])
    ) { request, _ in self.events(request) }
  }

  private func events(_ request: HTTPRequest) -> HTTPReply {
    var filter = EventFilter(
      type: request.query("type"), queue: request.query("queue"), batch: request.query("batch"), id: request.query("id")
    )
    for name in request.query("state")?.split(separator: ",", omittingEmptySubsequences: false) ?? [] {
      guard let state = JobState(rawValue: String(name)) else {
        let known = JobState.allCases.map(\.rawValue).joined(separator: ", ")
        return .now(
          .failure(
            400, code: "bad-request", message: "there is no state \"\(displayName(String(name)))\"; there are \(known)")
        )
      }
      filter.states.insert(state)
    }
    let head = HTTPResponse(headers: ["Content-Type": "text/event-stream", "X-Accel-Buffering": "no"])
    // A right may be taken away at any time. For that of a user, the user database may have to be asked.
    let interval = request.client.address == nil ? Duration.seconds(1) : .zero
    let reader = feed.reader(filter, after: request.headers["Last-Event-ID"], checkingEvery: interval) { [weak self] in
      self?.isStillGranted(.reading, request) ?? false
    }
    return .stream(head, reader)
  }
}
