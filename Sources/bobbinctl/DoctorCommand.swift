import Configuration
import ControlClient
import Doctor
import JSONText
import StatusReplies
import StoreCopy
import SystemSupport
import TextSupport

/// `bobbinctl doctor`: looks for contradictions in spool and store.
struct DoctorCommand: Subcommand {
  static let name = "doctor"
  static let usage = "doctor [--json] [BACKUP]"
  static let summary = "Look for faults in the spool and the store"
  static let details = """
    Reads the files themselves and changes nothing, so it needs the rights of root or of the daemon's user. It works
    beside a running daemon, and on the files of one that is stopped: what the next start cleans up is no finding then.

    It looks at the database's pages, the jobs' records, files without jobs, files in failed/ without a reason, half
    written files, large values without a row and rows without their value, missing folders, and the rights of folders.
    On a host of a fleet it looks at this host's files only, not into the database.

    With BACKUP, the folder of a backup, it looks at the store in there instead.

    Each finding says what, where, and what to do. The exit code is 0 if there is none, and 1 if there are some.
    """

  private let backup: String?

  init(_ arguments: inout ParsedArguments) {
    backup = arguments.operands.first
    if arguments.operands.count > 1 { arguments.addProblem("doctor takes one folder of a backup, or none") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let examination = try examination(session)
    let report: Report
    do throws(Examination.Impossible) { report = try Examination.run(examination) } catch {
      throw ToolError(
        error.isDenied ? .notPermitted : .unreadableFile, error.description,
        hint: error.isDenied
          ? "run it as root, or as the daemon's user"
          : backup == nil ? "--root DIR names the folder of the daemon's files" : "is this the folder of a backup?")
    }
    if session.printsJSON { try printJSON(report, session) } else { try print(report, session) }
    return report.findings.isEmpty ? .success : .jobFailed
  }

  /// Asks the daemon where its files are; one that does not answer counts as stopped.
  private func examination(_ session: Session) throws(ToolError) -> Examination {
    if let backup { return Examination(storeAlone: backup + "/" + Paths.storeFile) }
    let status = try session.statusIfRunning()
    let paths = session.paths
    let store: String?
    if let running = status?.store { store = running } else { store = try session.configuredStore().description }
    guard let spool = status?.spool ?? paths?.spool, let store else {
      throw ToolError(
        .unavailable, "the daemon does not say where its files are", hint: "name the folder with --root DIR")
    }
    return Examination(
      spool: spool, store: store, isOfFleet: StoreAddress(store).isPostgres, isRunning: status != nil,
      flushInterval: flushInterval(paths))
  }

  /// The configured flush interval, in seconds; its default if it can't be read.
  private func flushInterval(_ paths: Paths?) -> Double {
    let configuration = paths.flatMap { try? Configuration.load($0, ofUser: $0.owner) }
    return (configuration ?? Configuration()).writer.flushInterval / .seconds(1)
  }

  private func print(_ report: Report, _ session: Session) throws(ToolError) {
    for finding in report.findings {
      try session.output.write(
        singleLine("\(finding.code): \(finding.subject): \(finding.problem)") + "\n"
          + singleLine("  to do: \(finding.action)") + "\n")
    }
    for note in report.notes { try session.output.write(singleLine("note: \(note)") + "\n") }
    let count = report.findings.count
    try session.output.write(
      "\(count == 0 ? "nothing" : "\(count) thing\(count == 1 ? "" : "s")") found among \(report.jobs) jobs and "
        + "\(report.files) files\n")
  }

  private func printJSON(_ report: Report, _ session: Session) throws(ToolError) {
    let findings = report.findings.map { finding in
      JSONValue.object([
        "code": .string(finding.code), "subject": .string(finding.subject), "problem": .string(finding.problem),
        "action": .string(finding.action),
      ])
    }
    let value = JSONValue.object([
      "findings": .array(findings), "notes": .array(report.notes.map(JSONValue.string)),
      "jobs": .integer(Int64(report.jobs)), "files": .integer(Int64(report.files)),
    ])
    try session.output.write(value.serialized() + "\n")
  }
}
