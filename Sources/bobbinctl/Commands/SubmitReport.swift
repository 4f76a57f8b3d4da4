import SystemSupport

/// Reports the outcome of each submitted file, and computes the exit code: that of the first failure.
struct SubmitReport {
  private let session: Session
  private let isWaiting: Bool
  private(set) var result = ExitCode.success
  private var fileCount = 0
  private var failedFiles = 0
  private var lastError: ToolError?

  init(session: Session, isWaiting: Bool) {
    self.session = session
    self.isWaiting = isWaiting
  }

  mutating func add(_ outcome: Submission.Outcome, file: String) throws(ToolError) {
    fileCount += 1
    let name = file == "-" ? "standard input" : file
    switch outcome {
    case .replied(let reply):
      try session.printJSON(of: reply)
      do throws(ToolError) {
        let accepted = try reply.accepted(refusal: .refused)
        let jobs = try accepted.decoded(as: JobsReply.self).jobs
        for job in jobs { try add(job, allFinished: reply.status == 200) }
      } catch {
        if error.code == .outputFailed { throw error }
        fail(error.about(name))
      }
    case .failed(let error):
      // An unreachable daemon is the same news for every file.
      fail(error.code == .unavailable ? error : error.about(name))
    case .skipped:
      failedFiles += 1
    }
  }

  func finish() {
    if failedFiles > 0, fileCount > 1 { session.output.note("\(failedFiles) of \(fileCount) files failed") }
  }

  private mutating func add(_ job: JobReply, allFinished: Bool) throws(ToolError) {
    let end = isWaiting ? job.waitEnd(allFinished: allFinished) : nil
    if end == .failed { note(.jobFailed) }
    if end == .held { note(.jobHeld) }
    if end == .unfinished { note(.tryAgain) }
    if !session.printsJSON { try session.output.write(job.submitLine(end, TimeText())) }
  }

  private mutating func fail(_ error: ToolError) {
    failedFiles += 1
    if error != lastError { session.output.report(error) }
    lastError = error
    note(error.code)
  }

  private mutating func note(_ code: ExitCode) {
    // Jobs that wait for a held one are no reason to try again.
    if result == .success || (code == .jobHeld && result == .tryAgain) { result = code }
  }
}
