import Configuration
import Foundation
import Glibc
import Jobs
import SystemSupport

/// The end of a program, and the failure that it means for its job.
struct ProcessEnd: ProgramEnd {
  let definition: HandlerDefinition
  let termination: Termination

  /// Exit codes of sysexits.h that mean that another attempt would fail in the same way.
  static let permanentCodes: [Int32: String] = [
    EX_USAGE: "EX_USAGE", EX_DATAERR: "EX_DATAERR", EX_NOINPUT: "EX_NOINPUT", EX_NOPERM: "EX_NOPERM",
    EX_CONFIG: "EX_CONFIG",
  ]

  /// Exit codes of shells and env(1) that mean that a program can't be executed, or is not found.
  private static let unstartedCodes: Set<Int32> = [126, 127]

  func failure(_ report: ProgramReport, lastLines: [String]) -> (any Error)? {
    let evidence = evidence(lastLines)
    switch termination.status {
    case .signaled(let signal):
      let told = report.failure.map { "\($0.message); " } ?? ""
      var failure = JobFailure(
        "\(told)\(program) crashed, \(termination.status)\(reason(for: signal))\(evidence)", isPermanent: false)
      failure.crash = crash(lastLines)
      return failure
    case .exited(let code):
      if let told = report.failure {
        let code = code == 0 ? "" : " (\(program) exited with code \(code)\(evidence))"
        return JobFailure(told.message + code, isPermanent: told.isPermanent)
      }
      if code == 0 { return nil }
      if !report.hasBegun, let fault = hostFault(code, lastLines) { return fault }
      let symbol = Self.permanentCodes[code] ?? (code == EX_TEMPFAIL ? "EX_TEMPFAIL" : nil)
      let meaning = symbol.map { " (\($0))" } ?? ""
      return JobFailure(
        "\(program) exited with code \(code)\(meaning)\(evidence)", isPermanent: Self.permanentCodes[code] != nil)
    }
  }

  /// The fault of this host that kept the work from beginning, as far as the end of a program that has said nothing tells.
  private func hostFault(_ code: Int32, _ lastLines: [String]) -> HostFault? {
    // Nothing that differs from attempt to attempt, so that the fault is told once.
    let end = "\(program) exited with code \(code)"
    if let script = definition.command.script {
      do throws(SystemError) { _ = try FileDescriptor.open(script) } catch {
        return HostFault("\(end), as its script can't be read: \(error)", awaits: script)
      }
    }
    guard Self.unstartedCodes.contains(code) else { return nil }
    let words = lastLines.last.map { ": \(singleLine($0))" } ?? ""
    return HostFault(
      "\(end), which means that a program is missing or can't be executed\(words)", isCertain: false)
  }

  func failure(_ mistake: OutputError, lastLines: [String]) -> JobFailure {
    JobFailure("\(program): \(mistake)\(evidence(lastLines))")
  }

  private var program: String { "the program \(displayName(definition.command.executable))" }

  /// Its resource usage, and the end of its log.
  private func evidence(_ lastLines: [String]) -> String {
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

  private func crash(_ lastLines: [String]) -> CrashEvidence {
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
