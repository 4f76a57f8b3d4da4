import Configuration
import Dispatch
import Foundation
import HTTPService
import JobSchedule
import Synchronization
import SystemSupport

/// The lines of the log about requests that change something: who asked for what, and what the answer was.
///
/// Operators' commands are told one by one. Submissions may be very many; of those beyond `[Log] Jobs` in a second only
/// the number is told.
final class ChangeLog: Sendable {
  private struct Submissions {
    /// The end of the second that began with its first line.
    var end: Int64 = 0
    var told = 0
    var rest = 0
  }

  /// A request that changes something, as far as it is told.
  struct Change: Sendable {
    /// The longest part of a body that is told.
    private static let bodyLimit = 300

    let client: HTTPClient
    let isSubmission: Bool
    private let method: HTTPMethod
    private let path: String
    private let body: Data

    /// - Parameter tellsBody: false if its body may have what should not be in a log, such as arguments of jobs.
    init(_ request: HTTPRequest, isSubmission: Bool, tellsBody: Bool) {
      (client, method, path) = (request.client, request.method, request.path)
      self.isSubmission = isSubmission
      // A copy of its own, so that the rest is not kept.
      body = isSubmission || !tellsBody ? Data() : Data(Array(request.body.prefix(4 * Self.bodyLimit)))
    }

    var name: String { "\(method.rawValue) \(displayName(path))" }

    var words: String {
      if body.isEmpty { return name }
      return "\(name) \(singleLine(String(decoding: body, as: UTF8.self), limit: Self.bodyLimit))"
    }
  }

  private let configuration: ConfigurationBox
  private let log: DaemonLog
  private let queue = DispatchQueue(label: "change log")
  private let timer: OneShotTimer
  private let submissions = Mutex(Submissions())

  init(_ configuration: ConfigurationBox, log: DaemonLog) {
    self.configuration = configuration
    self.log = log
    timer = OneShotTimer(queue: queue)
  }

  /// Tells of a request that was answered.
  func note(_ change: Change, _ response: HTTPResponse) {
    if !change.isSubmission { return write(.notice, change, answeredBy: response) }
    guard log.shows(.info) else { return }
    let (now, limit) = (Moment.now().steady, configuration.value.log.jobs)
    let (rest, end) = submissions.withLock { state in
      if state.end <= now, state.rest == 0 { state = Submissions(end: now + 1000) }
      if state.told < limit { state.told += 1 } else { state.rest += 1 }
      return (state.rest, state.end)
    }
    if rest == 1 { timer.arm(after: .milliseconds(max(0, end - now))) { [weak self] in self?.sumUp() } }
    if rest == 0 { write(.info, change, answeredBy: response) }
  }

  private func sumUp() {
    let rest = submissions.withLock { state in
      defer { state = Submissions() }
      return state.rest
    }
    log.write(.info, "\(rest) more \(rest == 1 ? "request" : "requests") submitted jobs")
  }

  private func write(_ priority: JournalPriority, _ change: Change, answeredBy response: HTTPResponse) {
    queue.async { [log] in
      log.write(
        priority, "\(change.client.words) asked: \(change.words): \(response.status)", as: .changeAsked,
        fields: change.client.fields + [("BOBBIN_REQUEST", change.name), ("BOBBIN_STATUS", "\(response.status)")])
    }
  }
}
