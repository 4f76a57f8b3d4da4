import Foundation
import Jobs
import ObjectGraph

/// The state of a job in memory, beyond its record, until it is durable.
struct LiveView: Sendable {
  let state: JobState
  var attempt: Int?
  /// The start of the running attempt.
  var started: Date?
  var progress: JobProgress?
  var pace = ProgressPace()
  /// The reason why the running attempt is to end, if it was told to.
  var ending: String?
  /// The reason why it is held, if that is not in its record.
  var failure: String?
}

extension DaemonCore {
  /// Returns a job's state in memory; nil once its end is durable.
  func live(_ job: Job) -> LiveView? {
    let id = job.objectID
    guard let state = scheduler.read({ schedule, _ in schedule.state(of: id) }) else { return nil }
    var view = LiveView(state: state)
    let running = state == .running ? scheduler.running(id) : nil
    view.ending = running?.stop?.description
    if let attempt = running?.attempt {
      view.attempt = attempt.number
      view.started = attempt.started
      let (progress, pace) = attempt.execution.lookAtProgress()
      view.progress = progress
      view.pace = pace
    }
    if state == .held && handlers[job.type] == nil { view.failure = UnknownType(name: job.type).description }
    return view
  }
}
