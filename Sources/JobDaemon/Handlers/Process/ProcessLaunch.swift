import Configuration
import Foundation
import SystemSupport

/// Makes the start of a program from its definition and a job.
struct ProcessLaunch {
  let definition: HandlerDefinition
  let account: UserAccount?
  /// Tells the processes of this daemon from those of others; see ``MarkedProcesses``.
  let mark: String

  static let markVariable = "BOBBIN_STATE"

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
      "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
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
    variables[Self.markVariable] = mark
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
