import DaemonTesting
import Foundation

/// Job types run by shell scripts: each notes that it was started, inserts rows, with a checkpoint in between, and then
/// ends in its own way.
enum TestProgram: String, CaseIterable {
  case good, flaky, bad, crashing, slow

  static let rowCount = 5

  private static let insertion = #"""
    insert() { echo '{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": '$1'}}}'; }
    read -r job
    case $job in
      *'"cursor":null'* | *'"cursor": null'*) insert 0; insert 1; echo '{"checkpoint": "2"}' ;;
    esac
    insert 2; insert 3; insert 4

    """#

  private var end: String {
    switch self {
    case .good: "exit 0"
    case .flaky: "[ $BOBBIN_ATTEMPT -ge 2 ] || exit 75"
    case .bad: "exit 65"
    case .crashing: "kill -KILL $$"
    // Long enough to be ordered about.
    case .slow: "sleep 0.1"
    }
  }

  /// - Parameter starts: where it notes its starts, see ``JobStart``.
  func script(notingStartsIn starts: String) -> String {
    "echo \"$BOBBIN_JOB_ID $BOBBIN_ATTEMPT $PPID\" >>'\(starts)'\n" + Self.insertion + end + "\n"
  }

  func path(in root: DaemonRoot) -> String { root.directory.path("\(self).sh") }

  static func declareAll(in root: DaemonRoot) throws {
    for program in allCases {
      let path = program.path(in: root)
      try root.write(program.script(notingStartsIn: JobStart.path(in: root)), to: path)
      try root.write(
        "[Handler]\nType=test.\(program)\nExecStart=/bin/sh \(path)\n", to: "\(root.paths.handlers)/\(program).conf")
    }
  }

  func job(_ id: String) -> JobDraft {
    let text = #"""
      "type": "test.\#(self)", "id": "\#(id)", "maxAttempts": 4, "backoff": {"kind": "fixed", "base": "20ms"}
      """#
    var job = ExpectedJob(id: id)
    job.rows = Self.rowCount
    if self == .bad { job.outcomes = ["discarded"] }
    if self == .crashing {
      job.outcomes = ["quarantined"]
      job.checkpointRows = 2
    }
    return JobDraft(text: text, job: job)
  }
}
