import Configuration
import Foundation
import Glibc
import Jobs
import SystemSupport

/// The end of a program, and the failure that it means for its job.
struct ProcessEnd: Sendable {
  let definition: HandlerDefinition
  let termination: Termination
  /// The last lines of its log.
  let lastLines: [String]
  /// The failure that the program itself reported, if it did.
  var reported: JobFailure?

  /// Exit codes of sysexits.h that mean that another attempt would fail in the same way.
  static let permanentCodes: [Int32: String] = [
    EX_USAGE: "EX_USAGE", EX_DATAERR: "EX_DATAERR", EX_NOINPUT: "EX_NOINPUT", EX_NOPERM: "EX_NOPERM",
    EX_CONFIG: "EX_CONFIG",
  ]

  /// The failure of the attempt; nil if it succeeded.
  var failure: JobFailure? {
    switch termination.status {
    case .signaled(let signal):
      let report = reported.map { "\($0.message); " } ?? ""
      var failure = JobFailure(
        "\(report)\(program) crashed, \(termination.status)\(reason(for: signal))\(evidence)", isPermanent: false)
      failure.crash = crash
      return failure
    case .exited(let code):
      if let reported { return JobFailure(reported.message + evidence(code), isPermanent: reported.isPermanent) }
      if code == 0 { return nil }
      let symbol = Self.permanentCodes[code] ?? (code == EX_TEMPFAIL ? "EX_TEMPFAIL" : nil)
      let meaning = symbol.map { " (\($0))" } ?? ""
      return JobFailure(
        "\(program) exited with code \(code)\(meaning)\(evidence)", isPermanent: Self.permanentCodes[code] != nil)
    }
  }

  /// The failure of a program whose output can't be understood.
  func failure(_ error: OutputError) -> JobFailure { JobFailure("\(program): \(error)\(evidence)") }

  private var program: String { "the program \(displayName(definition.command.executable))" }

  private func evidence(_ code: Int32) -> String {
    code == 0 ? "" : " (\(program) exited with code \(code)\(evidence))"
  }

  /// Its resource usage, and the end of its log.
  private var evidence: String {
    let seconds = String(format: "%.2f", termination.processorTime / .seconds(1))
    let memory = String(format: "%.1f", Double(termination.maximumResidentSize) / 1_048_576)
    // The kernel counts the memory of the process that it was started from, too, until the program was executed.
    let used = "; it used \(seconds) s of processor time and at most \(memory) MiB of memory"
    if lastLines.isEmpty { return used }
    return used + "; its log ends: " + lastLines.map { singleLine($0) }.joined(separator: " / ")
  }

  private func reason(for signal: Int32) -> String {
    switch signal {
    case SIGXCPU: " at the limit of its processor time (CPUTimeMax)"
    case SIGXFSZ: " at the limit of a file's size (FileSizeMax)"
    case SIGKILL: ", as the kernel does when memory runs out"
    default: ""
    }
  }

  private var crash: CrashEvidence {
    var evidence = CrashEvidence(
      userSeconds: termination.userTime / .seconds(1), systemSeconds: termination.systemTime / .seconds(1),
      maximumResidentBytes: termination.maximumResidentSize, logTail: lastLines.joined(separator: "\n"))
    switch termination.status {
    case .signaled(let signal): evidence.signal = signal
    case .exited(let code): evidence.exitStatus = code
    }
    return evidence
  }
}

extension Termination {
  /// Of the child and the descendants that it waited for.
  fileprivate var processorTime: Duration { userTime + systemTime }
}
