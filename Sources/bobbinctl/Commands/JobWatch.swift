import ControlClient
import Foundation
internal import Glibc
import SystemSupport

/// Looks at jobs that this user has submitted since it was made, for a line on a terminal.
struct JobWatch {
  private let client: ControlClient
  private let user = Int(geteuid())
  private let start = Date()

  init(client: ControlClient) { self.client = client }

  /// What is told of the running jobs: how far the one is that began last, and how many others there are.
  func look() -> [String] {
    let query = [URLQueryItem(name: "state", value: "running"), URLQueryItem(name: "limit", value: "100")]
    // Whoever waits for the jobs is told of what goes wrong; without this look only the line is shorter.
    guard
      let reply = try? Reply.received(
        from: client, "GET", ControlClient.path("v1", "jobs"), query: query, timeout: .seconds(5)),
      let jobs = try? reply.accepted(refusal: .usage).decoded(as: JobsReply.self).jobs
    else { return [] }
    let own = jobs.filter { job in job.submitter == user && (job.createdAt?.date).map { $0 >= start } ?? false }
    guard let shown = own.first(where: { $0.progress != nil }) ?? own.first else { return [] }
    let progress = shown.progress?.text.map { ": \(singleLine($0))" } ?? " is running"
    let others = own.count == 1 ? [] : ["\(own.count - 1) more running"]
    return [displayName(shown.id) + progress] + others
  }
}
