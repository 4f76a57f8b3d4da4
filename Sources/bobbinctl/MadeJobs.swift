import Foundation
import JSONText
import TextSupport

/// The jobs that a command makes of its arguments, from their common options to their submission.
struct MadeJobs {
  private static let keys = [
    ArgumentOption(Option("--queue", .required("QUEUE"), help: "The queue of the jobs")),
    ArgumentOption(Option("--priority", .required("N"), help: "From -100 to 100, higher goes first"), .number),
    ArgumentOption(Option("--batch", .required("BATCH"), help: "The batch of the jobs; several make one in any case")),
  ]

  static let options =
    keys.map(\.option) + SubmissionOptions.all + [
      Option("--dry-run", .none, help: "Print the job file, and submit nothing")
    ]

  /// The largest of several job files that share a batch; any daemon takes as much unless it is configured otherwise.
  private static let fileSize = 512 << 10

  private let keys: JSONObject
  private let submission: SubmissionOptions
  let isDryRun: Bool

  init(_ arguments: inout ParsedArguments) {
    submission = SubmissionOptions(&arguments)
    keys = Self.keys.values(in: arguments)
    isDryRun = arguments.has("--dry-run")
  }

  /// Checks that standard input can be the input of a job; what is in the way becomes a problem.
  func checkStandardInput(_ arguments: inout ParsedArguments) {
    if submission.wait == nil {
      arguments.addProblem("standard input needs --wait: it is kept until the job is completed")
    }
    if isDryRun { arguments.addProblem("standard input can't be in a job file; leave --dry-run out") }
  }

  /// Submits jobs, or prints their file.
  ///
  /// - Parameters:
  ///   - jobs: Objects with a type and arguments.
  ///   - areTogether: True if they name each other, and have to be in one file.
  ///   - name: What the name of a batch begins with.
  ///   - inputs: The files that go along with a single job.
  func submit(
    _ jobs: [JSONObject], areTogether: Bool, named name: String, sending inputs: [(name: String, file: String)] = [],
    _ session: Session
  ) throws(ToolError) -> ExitCode {
    var submission = submission
    submission.inputs = inputs
    var shared = keys
    if let place = submission.changes.place { shared["place"] = .string(place) }
    let batch = shared["batch"]?.string ?? Self.batchName(name)
    if jobs.count > 1 { shared["batch"] = nil }
    let whole = jobs.map { job in JSONValue.object(shared.reduce(into: job) { $0[$1.key] = $1.value }) }
    if isDryRun {
      try session.output.write(Self.file(whole, batch: batch).serialized(pretty: true) + "\n")
      return .success
    }
    let files = areTogether ? [whole] : Self.parts(of: whole)
    let code = try Submission.run(files.map { .made(Self.file($0, batch: batch)) }, submission, session: session)
    if jobs.count > 1, submission.wait == nil, !session.printsJSON, code == .success {
      session.output.note(
        "\(jobs.count) jobs of the batch \"\(batch)\"; \"bobbinctl watch --batch \(batch)\" follows them")
    }
    return code
  }

  private static func file(_ jobs: [JSONValue], batch: String) -> JSONValue {
    jobs.count == 1 ? jobs[0] : .object(["batch": .string(batch), "jobs": .array(jobs)])
  }

  /// The jobs in parts, none of them too large for a job file; a job alone keeps its batch in itself.
  private static func parts(of jobs: [JSONValue]) -> [[JSONValue]] {
    var parts: [[JSONValue]] = [[]]
    var size = 0
    for job in jobs {
      let length = job.serializedBytes().count
      if size + length > fileSize, parts[parts.count - 1].count > 1 {
        parts.append([])
        size = 0
      }
      parts[parts.count - 1].append(job)
      size += length
    }
    return parts
  }

  /// Such as `encode-2026-11-23-131502-a3f9`.
  private static func batchName(_ name: String) -> String {
    let time = TimeText.local(Date()).prefix(19).replacing(":", with: "").replacing(" ", with: "-")
    return "\(name)-\(time)-\(String(UInt16.random(in: 0x1000...0xffff), radix: 16))"
  }
}
