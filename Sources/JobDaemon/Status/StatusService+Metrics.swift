import Foundation
import HTTPService
import StatusReplies

/// Requests of those who collect figures.
extension StatusService {
  func addMetrics(to router: inout GuardedRouter) {
    router.on(
      .get, "/metrics", needs: .reading,
      as: .init(
        "Figures for Prometheus", .text("application/openmetrics-text; version=1.0.0; charset=utf-8"),
        .text("text/plain; version=0.0.4; charset=utf-8"))
    ) { request, _ in self.metrics(request) }
    router.on(
      .get, "/v1/samples", needs: .reading,
      as: .init(
        "Figures over time", .reply(SamplesReply.self),
        query: [.moment("since", "The beginning of the span; an hour ago without it")])
    ) { request, _ in self.samples(request) }
  }

  /// File systems that are asked for their room may not answer.
  private func metrics(_ request: HTTPRequest) -> HTTPReply {
    let format = MetricsText.Format(accept: request.headers["Accept"])
    return .later(within: .seconds(60)) { responder in
      self.figureQueues.async {
        let body = self.daemon.metrics(format, connections: self.connectionCount)
        _ = responder.respond(HTTPResponse(headers: ["Content-Type": format.contentType], body: body))
      }
    }
  }

  /// Fine samples reach back for an hour; who asks for earlier ones gets coarse ones.
  private func samples(_ request: HTTPRequest) -> HTTPReply {
    let now = Date()
    let since = request.query("since").map { Timestamp(text: $0).date } ?? now - 3_600
    guard let since else {
      return .now(
        .failure(
          400, code: "bad-request", message: "since is a time such as 2026-11-23T03:00:00Z",
          hint: "leave it out for the last hour"))
    }
    return .later { responder in
      self.daemon.samples.read { history in
        // A request takes its time, too.
        let series = since >= now - 3_610 ? history.fine : history.coarse
        let first = series.samples.first?.start ?? Int64(now.timeIntervalSince1970)
        let start = max(first, Int64(max(0, since.timeIntervalSince1970))) / series.step * series.step
        let columns = SampleColumn.allCases.map { column in
          (column.rawValue, series.values(of: column, from: start).map { $0.map { Int($0) } })
        }
        let reply = SamplesReply(
          stepSeconds: Int(series.step), start: Timestamp(Date(timeIntervalSince1970: Double(start))),
          samples: Dictionary(uniqueKeysWithValues: columns))
        _ = responder.respond(Self.json(reply.json))
      }
    }
  }
}
