import Foundation
import Jobs
import ObjectGraph

/// What the daemon knows of a job beyond its record, until that is on disk.
struct LiveView: Sendable {
  let state: JobState
  var attempt: Int?
  /// When the running attempt began.
  var started: Date?
  var progress: JobProgress?
  var pace = ProgressPace()
  /// Why the running attempt is to end, if it was told to.
  var ending: String?
  /// Why it is held, if that is not in its record.
  var failure: String?
}

extension DaemonCore {
  /// What is known of a job; nil once its end is on disk.
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
