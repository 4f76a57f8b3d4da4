package import Configuration
import Foundation
import JSONText
import Jobs
import SystemSupport

/// Makes the start of a program from its definition and a job.
struct ProcessLaunch {
  let definition: HandlerDefinition
  let account: UserAccount?
  let mark: ProcessMark

  /// The folders in which programs look for others, unless their type says otherwise.
  fileprivate static let searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

  /// The launch, without descriptors.
  func launch(for job: JobDocument) -> ChildLaunch {
    var launch = ChildLaunch(
      executable: definition.command.executable, arguments: arguments(job), environment: environment(job),
      workingDirectory: definition.workingDirectory ?? (account == nil ? job.payload : "/"))
    launch.diesWithParent = true
    launch.limits = limits
    launch.fileModeMask = UInt32(definition.fileModeMask)
    launch.niceness = definition.niceness.map(Int32.init)
    launch.user = account
    return launch
  }

  private func arguments(_ job: JobDocument) -> [String] {
    definition.command.arguments { specifier in
      switch specifier {
      case .id: job.id
      case .attempt: String(job.attempt)
      case .queue: job.queue
      case .payload: job.payload
      }
    }
  }

  private func environment(_ job: JobDocument) -> [String: String] {
    let own = ProcessInfo.processInfo.environment
    var variables = [
      "PATH": Self.searchPath, "LANG": "C.UTF-8",
      "HOME": account?.home ?? own["HOME"] ?? "/",
    ]
    if let account {
      variables["USER"] = account.name
      variables["LOGNAME"] = account.name
    }
    for name in definition.passedEnvironment { variables[name] = own[name] ?? variables[name] }
    variables.merge(definition.environment) { _, given in given }
    variables["BOBBIN_JOB_ID"] = job.id
    variables["BOBBIN_JOB_TYPE"] = job.type
    variables["BOBBIN_ATTEMPT"] = String(job.attempt)
    // As OpenTelemetry has it for programs: https://opentelemetry.io/docs/specs/otel/context/env-carriers/
    if let trace = job.trace {
      variables["TRACEPARENT"] = trace.parent
      variables["TRACESTATE"] = trace.state
    }
    variables[ProcessMark.variable] = mark.value
    return variables
  }

  private var limits: [ResourceLimit: UInt64] {
    var limits: [ResourceLimit: UInt64] = [.coreSize: 0, .openFiles: UInt64(definition.openFilesMax)]
    if let memory = definition.memoryMax { limits[.addressSpace] = UInt64(memory) }
    if let size = definition.fileSizeMax { limits[.fileSize] = UInt64(size) }
    if let time = definition.processorTimeMax {
      // The kernel counts whole seconds.
      limits[.processorTime] = UInt64((time / .seconds(1)).rounded(.up))
    }
    return limits
  }
}

extension DeclaredType {
  /// Checks that the program and its folder are there, and that the daemon may execute it.
  ///
  /// No configuration is refused for that: a program may be installed later, and its jobs wait until it is.
  package func checkProgram() throws(ConfigurationProblem) {
    // The program of a service is its unit's affair.
    if definition.socket != nil { return }
    let path = definition.environment["PATH"] ?? ProcessLaunch.searchPath
    let launch = ChildLaunch(
      executable: definition.command.executable, environment: ["PATH": path],
      workingDirectory: definition.workingDirectory)
    if let obstacle = launch.obstacle { throw definition.problem("ExecStart", "can't be executed: \(obstacle)") }
    if let obstacle = launch.workingDirectoryObstacle {
      throw definition.problem("WorkingDirectory", "can't be entered: \(obstacle)")
    }
  }
}

/// A mark on the processes of a daemon, by which its next run finds those that were left behind.
package struct ProcessMark: Sendable {
  fileprivate static let variable = "BOBBIN_STATE"
  fileprivate let value: String

  /// Makes a mark that is the same for every run of a daemon on this state folder, however its path is spelled.
  package init(stateFolder: String) {
    value = URL(fileURLWithPath: stateFolder).resolvingSymlinksInPath().path
  }

  /// Kills all marked processes; waits five seconds at most.
  ///
  /// - Returns: how many there were.
  package func killLeftovers() throws -> Int {
    try MarkedProcesses(variable: Self.variable, value: value).kill(by: .after(.seconds(5)))
  }
}

/// The job as its program reads it on standard input.
struct JobDocument: Sendable {
  /// Raised when a key changes its meaning or goes; see Documentation/ProcessHandlers.md.
  static let version: Int64 = 1

  let id: String
  let type: String
  let queue: String
  let priority: Int
  let attempt: Int
  let maxAttempts: Int
  let submitter: UInt32
  let arguments: JSONValue
  let payload: String
  let cursor: String?
  let after: [PrecedingJob]
  let batch: BatchSummary?
  let trace: TraceContext?

  /// One line of JSON.
  var bytes: [UInt8] {
    JSONValue.object([
      "version": .integer(Self.version), "id": .string(id), "type": .string(type), "queue": .string(queue),
      "priority": .integer(Int64(priority)), "attempt": .integer(Int64(attempt)),
      "maxAttempts": .integer(Int64(maxAttempts)), "submitter": .integer(Int64(submitter)), "arguments": arguments,
      "payload": .string(payload), "cursor": cursor.map(JSONValue.string) ?? .null,
      "after": .array(after.map(\.json)), "batch": batch?.json ?? .null,
      "traceparent": trace.map { .string($0.parent) } ?? .null, "tracestate": trace?.state.map { .string($0) } ?? .null,
    ]).serializedBytes() + [UInt8(ascii: "\n")]
  }
}

extension JobDocument {
  /// Describes an attempt at a job, and how the jobs have ended that it waited for.
  ///
  /// - Throws: ``StoreError`` if their records can't be read.
  init(_ execution: JobExecution, cursor: String?) async throws {
    let job = execution.specification
    self.init(
      id: execution.jobID, type: job.type, queue: job.queue, priority: job.priority, attempt: execution.attempt,
      maxAttempts: job.maxAttempts ?? execution.attempt, submitter: execution.submitter, arguments: job.arguments,
      payload: execution.payloadDirectory, cursor: cursor, after: try await execution.precedingJobs(),
      batch: try await execution.batchSummary(), trace: job.trace)
  }
}
