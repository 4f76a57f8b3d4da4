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
  static let usage = "submit [--wait[=SECONDS]] [--place PLACE] [--json] FILE..."
  static let summary = "Submit job files"
  static let details = """
    FILE is a job file, - is standard input. Each is one request: its jobs are accepted together or not at all, and a
    refused file doesn't keep the others from being submitted. Accepted jobs are on disk and survive a power cut.
    A job whose ID is known is not run again, which is told; if it is another job, with other arguments, its file is
    refused, and the exit code is 4.

    With --wait it ends when all jobs are completed and their outcome is on disk, with 1 if one of them failed,
    with 3 if one is held and the others are finished or wait too, and with 75 when the time is up; the jobs continue.
    At the end those that failed come first. On a terminal it shows how many are done and how far those are that run.
    At most \(Submission.mostWaiting) files wait at a time.
    """
  static let options = [
    Option("--wait", .optional("SECONDS"), help: "Wait for the jobs, 0 to 86400 seconds altogether (default: 600)"),
    Option("--place", .required("PLACE"), help: "Only hosts that offer PLACE run the jobs that name none themselves"),
  ]

  private let files: [String]
  private let wait: Int?
  private let place: String?

  init(_ arguments: inout ParsedArguments) {
    files = arguments.operands
    wait = arguments["--wait"] == "" ? 600 : arguments.number("--wait", in: 0...86_400)
    place = arguments["--place"]
    if files.isEmpty { arguments.addProblem("a file is missing: \(Self.usage)") }
    if files.count(where: { $0 == "-" }) > 1 { arguments.addProblem("standard input can be read only once") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let submission = Submission(
      files: files, place: place, client: session.client, wait: wait.map { .seconds($0) })
    var report = SubmitReport(session: session, isWaiting: wait != nil)
    var outcomes: [Int: Submission.Outcome] = [:]
    var next = 0
    var progress = SubmitProgress(session, isShown: wait != nil, fileCount: files.count)
    submission.start()
    for _ in files.indices {
      progress.show()
      let (index, outcome) = submission.nextFinished(
        meanwhile: progress.isShown ? { progress.look(filesToCome: submission.unsentCount) } : nil)
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

/// The lines on a terminal while the jobs of submitted files are waited for.
struct SubmitProgress {
  /// True if anybody would see it.
  let isShown: Bool
  private let session: Session
  private var watch = JobWatch(.submitted(since: Date()))
  private var lastLook = ContinuousClock.now
  private var lines: LiveLines
  private var text: [String]

  init(_ session: Session, isShown: Bool, fileCount: Int) {
    self.session = session
    self.isShown = isShown && session.output.showsProgress
    lines = LiveLines(session.output)
    text = ["waiting for the jobs of \(fileCount) \(fileCount == 1 ? "file" : "files")"]
  }

  mutating func show() { if isShown { lines.show(text) } }

  mutating func clear() { if isShown { lines.clear() } }

  /// Asks the daemon how far the jobs are, and shows it.
  mutating func look(filesToCome: Int) {
    lastLook = .now
    // The wait for the jobs reports errors; without this reply the lines are only older.
    guard (try? watch.look(session)) != nil, watch.tally.total > 0 else { return }
    let output = session.output
    text = watch.lines(width: output.progressWidth, height: output.progressHeight, filesToCome: filesToCome)
    show()
  }

  /// Looks if the last time is a second ago: files may be finished more often than that.
  mutating func lookIfDue(filesToCome: Int) {
    if isShown, filesToCome > 0, lastLook.duration(to: .now) >= .seconds(1) { look(filesToCome: filesToCome) }
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

  private let files: [String]
  private let place: String?
  private let client: ControlClient
  private let deadline: ContinuousClock.Instant?
  private let state = Mutex(State())
  private let isFinished = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - place: The place of jobs that name none.
  ///   - wait: How long to wait for the jobs of all files together; nil doesn't.
  init(files: [String], place: String?, client: ControlClient, wait: Duration?) {
    self.files = files
    self.place = place
    self.client = client
    deadline = wait.map { .now + $0 }
  }

  func start() {
    for _ in 0..<(deadline == nil ? 1 : min(files.count, Self.mostWaiting)) {
      Thread.detachNewThread { self.work() }
    }
  }

  /// Waits for the next file to be finished; to be called once for each.
  ///
  /// - Parameter look: Called every second meanwhile, to update a terminal; nil without one.
  func nextFinished(meanwhile look: (() -> Void)?) -> (index: Int, outcome: Outcome) {
    if let look {
      while isFinished.wait(timeout: .now() + .seconds(1)) == .timedOut { look() }
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

  private func submit(_ file: String) -> Outcome {
    do throws(ToolError) {
      let contents = try JobFileInput.read(file)
      let body = place.map { JobFileInput.giving(place: $0, to: contents) } ?? contents
      // Whole seconds, rounded up; after the deadline the file is still submitted.
      let rest = deadline.map { max(0, Int((ContinuousClock.now.duration(to: $0) / .seconds(1)).rounded(.up))) }
      let query = rest.map { [URLQueryItem(name: "wait", value: String($0))] } ?? []
      return .replied(
        try Reply.received(
          from: client, "POST", ControlClient.path("v1", "jobs"), query: query, body: body,
          timeout: .seconds(30 + (rest ?? 0))))
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

  func finish() throws(ToolError) {
    let failed = waited.filter(\.job.state.isFailure)
    let others = waited.filter { !$0.job.state.isFailure }
    try session.output.write((failed + others).map(\.line).joined())
    if waited.count > 1 { session.output.note("\(waited.count) jobs: \(JobTally(waited.map(\.job)).statesText)") }
    if failedFiles > 0, fileCount > 1 { session.output.note("\(failedFiles) of \(fileCount) files failed") }
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

  private mutating func note(_ code: ExitCode) {
    // Jobs that wait for a held one are no reason to try again.
    if result == .success || (code == .jobHeld && result == .tryAgain) { result = code }
  }
}

/// Reads the files that are submitted.
enum JobFileInput {
  /// No daemon takes job files of this size, whatever its configuration; its own limit is lower.
  private static let maximumBytes = 16 << 20

  /// The whole file, which may be a pipe; `-` is standard input.
  static func read(_ file: String) throws(ToolError) -> Data {
    do throws(SystemError) {
      return try open(file).readAll(limit: maximumBytes)
    } catch  where error.code == .fileTooLarge {
      throw ToolError(.refused, "it has more than \(maximumBytes) bytes, which is more than any job file may have")
    } catch {
      throw ToolError(.unreadableFile, "it can't be read: \(error.code)")
    }
  }

  /// Gives the jobs of a file a place, unless they name one; what is no job file is left to the daemon, which says why.
  static func giving(place: String, to contents: Data) -> Data {
    guard var file = (try? JSONValue(parsing: contents, dialect: .json5))?.object else { return contents }
    func placed(_ job: JSONValue) -> JSONValue {
      guard var object = job.object, object["place"] == nil else { return job }
      object["place"] = .string(place)
      return .object(object)
    }
    if let jobs = file["jobs"]?.array {
      file["jobs"] = .array(jobs.map(placed))
      if let callback = file["callback"] { file["callback"] = placed(callback) }
    } else {
      file = placed(.object(file)).object ?? file
    }
    return Data(JSONValue.object(file).serializedBytes())
  }

  private static func open(_ file: String) throws(SystemError) -> FileDescriptor {
    guard file == "-" else { return try .open(file) }
    // A descriptor of our own: the original stays open for whoever shares it.
    return FileDescriptor(owning: try systemCall("fcntl") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) })
  }
}
