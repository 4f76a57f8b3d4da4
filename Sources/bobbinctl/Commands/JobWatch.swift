import ControlClient
import Foundation
internal import Glibc
import SystemSupport

/// Watches the jobs that this user has submitted since it was created, for a line on a terminal.
struct JobWatch {
  private let client: ControlClient
  private let user = Int(geteuid())
  private let start = Date()

  init(client: ControlClient) { self.client = client }

  /// The progress of the running job that began last, and the number of others; nil if none is known to run.
  func look() -> ProgressLine? {
    let query = [URLQueryItem(name: "state", value: "running"), URLQueryItem(name: "limit", value: "100")]
    // The wait for the jobs reports errors; without this reply only the line is shorter.
    guard
      let reply = try? Reply.received(
        from: client, "GET", ControlClient.path("v1", "jobs"), query: query, timeout: .seconds(5)),
      let jobs = try? reply.accepted(refusal: .usage).decoded(as: JobsReply.self).jobs
    else { return nil }
    let own = jobs.filter { job in job.submitter == user && (job.createdAt?.date).map { $0 >= start } ?? false }
    guard let shown = own.first(where: { $0.progress != nil }) ?? own.first else { return nil }
    let progress = shown.progress?.text.map { ": \(singleLine($0))" } ?? " is running"
    let others = own.count == 1 ? "" : "; \(own.count - 1) more running"
    return ProgressLine(displayName(shown.id), progress + others)
  }
}

/// A line of progress that may be wider than the terminal.
struct ProgressLine {
  /// A name, whose middle may be left out.
  private let name: String
  /// The progress, whose end may be left out.
  private let rest: String
  private static let leastName = 12

  init(_ name: String, _ rest: String = "") {
    self.name = name
    self.rest = rest
  }

  /// The line, cut to a width in characters: the name is cut first, since the progress is what one looks for.
  func text(width: Int?) -> String {
    guard let width, name.count + rest.count > width else { return name + rest }
    let nameWidth = min(name.count, max(Self.leastName, width - rest.count))
    return String((name.cutInMiddle(to: nameWidth) + rest).prefix(width))
  }
}

extension String {
  /// The text in at most `width` characters, with an ellipsis for what is left out of the middle.
  func cutInMiddle(to width: Int) -> String {
    if count <= width { return self }
    let head = width / 2
    return prefix(head) + "…" + suffix(max(0, width - head - 1))
  }
}
