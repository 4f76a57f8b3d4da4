import ControlClient
import Foundation

/// `bobbinctl submit`: gives job files to the daemon and, if wanted, waits for their jobs.
struct SubmitCommand: Command {
  static let name = "submit"
  static let usage = "submit [--wait[=SECONDS]] [--json] FILE..."
  static let summary = "Submit job files"
  static let details = """
    FILE is a job file, - is standard input. Each is one request: its jobs are accepted together or not at all, and a
    refused file doesn't keep the others from being submitted. Accepted jobs are on disk and survive a power cut.

    With --wait it ends when all jobs are completed and their outcome is on disk, with 1 if one of them failed,
    with 3 if one is held and the others are over or wait too, and with 75 when the time is over; the jobs go on then.
    On a terminal a line tells how far they are.
    At most \(Submission.mostWaiting) files wait at a time.
    """
  static let options = [
    Option("--wait", .optional("SECONDS"), "Wait for the jobs, at most this long altogether (default: 600)")
  ]

  private let files: [String]
  private let wait: Int?

  init(_ arguments: inout ParsedArguments) {
    files = arguments.operands
    wait = arguments["--wait"] == "" ? 600 : arguments.number("--wait", in: 0...86_400)
    if files.isEmpty { arguments.addProblem("a file is missing: \(Self.usage)") }
    if files.count(where: { $0 == "-" }) > 1 { arguments.addProblem("standard input can be read only once") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let submission = Submission(files: files, client: session.client, wait: wait.map { .seconds($0) })
    var report = SubmitReport(session: session, isWaiting: wait != nil)
    var outcomes: [Int: Submission.Outcome] = [:]
    var next = 0
    let watch = JobWatch(client: session.client)
    submission.start()
    for finished in files.indices {
      let left = files.count - finished
      let waiting = "waiting for the jobs of \(left) \(left == 1 ? "file" : "files")"
      if wait != nil { session.output.showProgress(waiting) }
      let (index, outcome) = submission.nextFinished(
        meanwhile: wait == nil || !session.output.showsProgress
          ? nil
          : {
            let line = watch.look() ?? ProgressLine(waiting)
            session.output.showProgress(line.text(width: session.output.progressWidth))
          })
      session.output.clearProgress()
      outcomes[index] = outcome
      // Reported in the order of the files.
      while let outcome = outcomes.removeValue(forKey: next) {
        try report.add(outcome, file: files[next])
        next += 1
      }
    }
    report.finish()
    return report.result
  }
}
