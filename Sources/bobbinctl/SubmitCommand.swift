import ControlClient
import Dispatch
import Foundation
internal import Glibc
import JSONText
import StatusReplies
import Synchronization
import SystemSupport
import TextSupport

/// `bobbinctl submit`: gives job files to the daemon and, if wanted, waits for their jobs.
struct SubmitCommand: Subcommand {
  static let name = "submit"
  static let usage = "submit [--wait[=TIME]] [--place PLACE] [--replace] [--input NAME=FILE] [--json] FILE..."
  static let summary = "Submit job files"
  static let details = """
    FILE is a job file, - is standard input. A file that is called *.ndjson or *.jsonl has a job on each line, and so
    has standard input with several lines of which the first is an object. Each is one request: its jobs are accepted
    together or not at all, and a refused file doesn't keep the others from being submitted. Accepted jobs are on disk
    and survive a power cut.
    A job whose ID is known is not run again, which is told; if it is another job, with other arguments, its file is
    refused, and the exit code is 4. With --replace it takes the place of the known one: an unfinished job is ended and
    runs as the file says, a finished one runs once more; "bobbinctl show" keeps its earlier results. Relative paths in the
    arguments start at the working directory, where the type says which arguments are paths.

    With --input a file goes along with the job file, which names it as "upload:NAME" in place of a path: it is opened here,
    with your rights, and passed to the daemon, or sent as a form if it takes no open files. The daemon keeps a
    copy for these jobs until they are completed, so that it may be private, or anywhere: neither the daemon nor other
    users need to be able to read the file.

    With --wait it ends when all jobs are completed and their outcome is on disk, with 1 if one of them failed,
    with 3 if one is held and the others are finished or wait too, and with 75 when the time is up; the jobs continue.
    At the end those that failed come first. On a terminal it shows how many are done and how far those are that run;
    elsewhere a line on standard error says now and then how many are done.
    At most \(Submission.mostWaiting) files wait at a time.
    """
  static let options =
    SubmissionOptions.all + [
      Option(
        "--input", .required("NAME=FILE"), help: "Send FILE along; jobs name it as upload:NAME; may be repeated",
        isRepeatable: true),
      Option("--replace", .none, help: "Known jobs of the files' IDs are replaced, as by \"replace\": true in a file"),
    ]

  private let files: [String]
  private let options: SubmissionOptions

  init(_ arguments: inout ParsedArguments) {
    files = arguments.operands
    var options = SubmissionOptions(&arguments, replaces: arguments.has("--replace"))
    for text in arguments.all("--input") {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      if parts.count != 2 || parts[1] == "-" {
        arguments.addProblem(
          "--input takes a name and a file, as in --input photo=/home/anna/photo.jpg, not \"\(text)\"")
      } else if !parts[0].utf8.allSatisfy(SentInputs.isAllowed) || parts[0] == "job" {
        arguments.addProblem(
          "an input has a name of letters, digits, dots, hyphens and underscores, not \"\(parts[0])\"")
      } else {
        options.inputs.append((parts[0], parts[1]))
      }
    }
    if !options.inputs.isEmpty, files.count > 1 { arguments.addProblem("--input goes with one job file") }
    self.options = options
    if files.isEmpty { arguments.addProblem("a file is missing: \(Self.usage)") }
    if files.count(where: { $0 == "-" }) > 1 { arguments.addProblem("standard input can be read only once") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    try Submission.run(files.map { .file($0) }, options, session: session)
  }
}

/// The options of all commands that submit jobs.
struct SubmissionOptions {
  static let all = [
    WaitOption.option("Wait for the jobs, for at most TIME altogether"),
    Option("--place", .required("PLACE"), help: "Only hosts that offer PLACE run the jobs that name none themselves"),
  ]

  /// The longest wait for the jobs of all files together; nil doesn't wait.
  let wait: Duration?
  let changes: JobFileChanges
  /// Files that go along with the job file, under the names by which it means them.
  var inputs: [(name: String, file: String)] = []

  init(_ arguments: inout ParsedArguments, replaces: Bool = false) {
    wait = WaitOption.read(&arguments)
    changes = JobFileChanges(place: arguments["--place"], replaces: replaces)
  }
}

extension Submission {
  /// Submits job files, waits for their jobs if wanted, and reports what becomes of them.
  static func run(
    _ files: [JobFileSource], _ options: SubmissionOptions, session: Session
  ) throws(ToolError) -> ExitCode {
    let submission = Submission(files: files, client: session.client, options)
    var report = SubmitReport(session: session, isWaiting: options.wait != nil)
    var outcomes: [Int: Submission.Outcome] = [:]
    var next = 0
    var progress = SubmitProgress(session, isWaiting: options.wait != nil, of: submission)
    submission.start()
    for _ in files.indices {
      progress.show()
      let (index, outcome) = submission.nextFinished(every: progress.interval) {
        progress.look(filesToCome: submission.unsentCount)
      }
      progress.lookIfDue(filesToCome: submission.unsentCount)
      // What is reported stays above.
      progress.clear()
      outcomes[index] = outcome
      // Reported in the order of the files.
      while let outcome = outcomes.removeValue(forKey: next) {
        try report.add(outcome, file: files[next])
        next += 1
      }
    }
    try report.finish()
    return report.result
  }
}

/// The lines while the jobs of submitted files are waited for: on a terminal they replace each other.
struct SubmitProgress {
  /// The time between two looks; nil if nobody wants to know.
  let interval: Duration?
  private let session: Session
  private var watch: JobWatch
  private var lastLook = ContinuousClock.now
  private var lines: LiveLines
  private var text: [String]
  /// The last lines that stay, where there is no terminal.
  private var told: [String] = []

  init(_ session: Session, isWaiting: Bool, of submission: Submission) {
    self.session = session
    watch = JobWatch(.submitted(tag: submission.tag, since: Date()))
    let fileCount = submission.unsentCount
    let isPlain = !session.output.showsProgress
    interval = isWaiting && !(isPlain && session.printsJSON) ? .seconds(isPlain ? 3 : 1) : nil
    lines = LiveLines(session.output)
    text = ["waiting for the jobs of \(fileCount) \(fileCount == 1 ? "file" : "files")"]
  }

  mutating func show() { if interval != nil { lines.show(text) } }

  mutating func clear() { if interval != nil { lines.clear() } }

  /// Asks the daemon how far the jobs are, and shows it.
  mutating func look(filesToCome: Int) {
    lastLook = .now
    // The wait for the jobs reports errors; without this reply the lines are only older.
    guard (try? watch.look(session)) != nil, watch.tally.total > 0 else { return }
    let output = session.output
    text = watch.lines(width: output.progressWidth, height: output.progressHeight, filesToCome: filesToCome)
    show()
    if output.showsProgress { return }
    let news = [watch.summary] + watch.failures
    for line in news where !told.contains(line) { output.note(line) }
    told = news
  }

  /// Looks if the last time is long enough ago: files may be finished more often than that.
  mutating func lookIfDue(filesToCome: Int) {
    guard let interval, filesToCome > 0, lastLook.duration(to: .now) >= interval else { return }
    look(filesToCome: filesToCome)
  }
}

/// Sends job files on threads of its own: one after the other, or many at a time if it waits for each.
///
/// The daemon answers a waiting request when its jobs are finished, so nothing is polled. Each request ends after the
/// client's timeout at the latest, and with it every wait here.
final class Submission: Sendable {
  enum Outcome {
    case replied(Reply)
    case failed(ToolError)
    /// Not tried, since the daemon didn't answer for an earlier file.
    case skipped
  }

  private struct State {
    var next = 0
    var finished: [(index: Int, outcome: Outcome)] = []
    var isAbandoned = false
  }

  /// The daemon keeps a limited number of connections of one user; some are left for other commands.
  static let mostWaiting = 32

  /// The word by which the jobs are found among those that this user submits otherwise.
  let tag = String(UUID().uuidString.filter { $0 != "-" })
  private let files: [JobFileSource]
  private let changes: JobFileChanges
  private let inputs: [(name: String, file: String)]
  private let client: ControlClient
  /// The folder where relative paths in the arguments of jobs start.
  private let directory = FileManager.default.currentDirectoryPath
  private let deadline: ContinuousClock.Instant?
  private let state = Mutex(State())
  private let isFinished = DispatchSemaphore(value: 0)

  init(files: [JobFileSource], client: ControlClient, _ options: SubmissionOptions) {
    self.files = files
    self.client = client
    changes = options.changes
    inputs = options.inputs
    deadline = options.wait.map { .now + $0 }
  }

  func start() {
    for _ in 0..<(deadline == nil ? 1 : min(files.count, Self.mostWaiting)) {
      Thread.detachNewThread { self.work() }
    }
  }

  /// Waits for the next file to be finished; to be called once for each.
  ///
  /// - Parameters:
  ///   - interval: The time between calls of `look` meanwhile; nil for none.
  ///   - look: Shows how far the jobs are.
  func nextFinished(every interval: Duration?, _ look: () -> Void) -> (index: Int, outcome: Outcome) {
    if let interval {
      while isFinished.wait(timeout: .now() + interval / .seconds(1)) == .timedOut { look() }
    } else {
      isFinished.wait()
    }
    return state.withLock { $0.finished.removeFirst() }
  }

  /// The number of files that have not been sent yet.
  var unsentCount: Int { state.withLock { files.count - $0.next } }

  private func work() {
    while let (index, isAbandoned) = dequeue() {
      let outcome = isAbandoned ? .skipped : submit(files[index])
      state.withLock { state in
        if case .failed(let error) = outcome, error.code == .unavailable { state.isAbandoned = true }
        state.finished.append((index, outcome))
      }
      isFinished.signal()
    }
  }

  private func dequeue() -> (index: Int, isAbandoned: Bool)? {
    state.withLock { state in
      guard state.next < files.count else { return nil }
      defer { state.next += 1 }
      return (state.next, state.isAbandoned)
    }
  }

  private func submit(_ file: JobFileSource) -> Outcome {
    do throws(ToolError) {
      let input = try JobFileInput(file, changes)
      // Whole seconds, rounded up; after the deadline the file is still submitted.
      let rest = deadline.map { max(0, Int((ContinuousClock.now.duration(to: $0) / .seconds(1)).rounded(.up))) }
      let query =
        (rest.map { [URLQueryItem(name: "wait", value: String($0))] } ?? [])
        + [URLQueryItem(name: "tag", value: (file.handle.map { $0 + "." } ?? "") + tag)]
        // A working directory that was removed has no path.
        + (directory.isEmpty ? [] : [URLQueryItem(name: "directory", value: directory)])
      let timeout = Duration.seconds((input.hasLines || !inputs.isEmpty ? 3_600 : 30) + (rest ?? 0))
      let inputs = inputs.isEmpty ? nil : SentInputs(files: inputs)
      if let reply = try inputs?.pass(with: input, to: client, query: query, timeout: timeout) {
        return .replied(reply)
      }
      return .replied(
        try Reply.received(
          from: client, "POST", ControlClient.path("v1", "jobs"), query: query,
          sending: try inputs?.form(with: input) ?? input.body, timeout: timeout))
    } catch {
      return .failed(error)
    }
  }
}

/// Reports the outcome of each submitted file, and computes the exit code: that of the first failure.
struct SubmitReport {
  private let session: Session
  private let isWaiting: Bool
  private(set) var result = ExitCode.success
  private var fileCount = 0
  private var failedFiles = 0
  private var lastError: ToolError?
  /// The lines of jobs that were waited for, and their states: those that failed are printed first.
  private var waited: [(job: JobReply, line: String)] = []

  init(session: Session, isWaiting: Bool) {
    self.session = session
    self.isWaiting = isWaiting
  }

  mutating func add(_ outcome: Submission.Outcome, file: JobFileSource) throws(ToolError) {
    fileCount += 1
    switch outcome {
    case .replied(let reply):
      try session.printJSON(of: reply)
      do throws(ToolError) {
        let accepted = try reply.accepted(refusal: .refused)
        let jobs = try accepted.decoded(as: JobsReply.self)
        if let total = jobs.total, total > jobs.jobs.count {
          try add(jobs, total, of: file.name)
        } else {
          for job in jobs.jobs { try add(job, allFinished: reply.status == 200) }
        }
      } catch {
        if error.code == .outputFailed { throw error }
        fail(file.placed(error))
      }
    case .failed(let error):
      // An unreachable daemon is the same news for every file.
      fail(error.code == .unavailable ? error : file.placed(error))
    case .skipped:
      failedFiles += 1
    }
  }

  func finish() throws(ToolError) {
    let failed = waited.filter(\.job.state.isFailure)
    let others = waited.filter { !$0.job.state.isFailure }
    try session.output.write((failed + others).map(\.line).joined())
    if waited.count > 1 { session.output.note("\(waited.count) jobs: \(JobTally(waited.map(\.job)).statesText)") }
    if failedFiles > 0, fileCount > 1 { session.output.note("\(failedFiles) of \(fileCount) files failed") }
  }

  /// Adds a file with more jobs than the reply lists.
  private mutating func add(_ jobs: JobsReply, _ total: Int, of name: String) throws(ToolError) {
    let tally = jobs.counts.map { JobTally($0) }
    if let tally {
      if tally.failed > 0 { note(.jobFailed) }
      if tally.held > 0 { note(.jobHeld) }
      if tally.done + tally.held < total { note(.tryAgain) }
    }
    if session.printsJSON { return }
    let known = jobs.repeated ?? 0
    try session.output.write(
      "\(displayName(name)): \(total) jobs, \(tally?.statesText ?? "accepted")"
        + (known > 0 ? "; \(known) were known already, and are not run again" : "") + "\n")
  }

  private mutating func add(_ job: JobReply, allFinished: Bool) throws(ToolError) {
    let end = isWaiting ? job.waitEnd(allFinished: allFinished) : nil
    if end == .failed { note(.jobFailed) }
    if end == .held { note(.jobHeld) }
    if end == .unfinished { note(.tryAgain) }
    if session.printsJSON { return }
    let line = job.submitLine(end, TimeText())
    if isWaiting { waited.append((job, line)) } else { try session.output.write(line) }
  }

  private mutating func fail(_ error: ToolError) {
    failedFiles += 1
    if error != lastError { session.output.report(error) }
    lastError = error
    note(error.code)
  }

  /// The ends of jobs by weight: one that failed matters more than one that is held, and that more than the jobs that wait for
  /// it, which are no reason to try again.
  private static let ends = [ExitCode.success, .tryAgain, .jobHeld, .jobFailed]

  /// Notes what the exit status may tell; of a file that was refused, the first reason stays.
  private mutating func note(_ code: ExitCode) {
    func weight(_ code: ExitCode) -> Int { Self.ends.firstIndex(of: code) ?? Self.ends.count }
    if weight(code) > weight(result) { result = code }
  }
}
