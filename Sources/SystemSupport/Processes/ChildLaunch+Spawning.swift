import CLinux
import Glibc

extension ChildLaunch {
  /// Starts the program in a session and process group of its own, with default signal handling.
  ///
  /// The caller must reap it. A program that can't be executed is reported here, not as an exit status.
  /// - Returns: Its process ID.
  func spawn() throws(SystemError) -> Int32 {
    let environment = self.environment.map { "\($0.key)=\($0.value)" }.sorted()
    for text in [executable] + arguments + environment where text.utf8.contains(0) {
      throw SystemError(
        .invalidArgument, call: "execve", subject: executable, hint: "\"\(displayName(text))\" has a zero byte")
    }
    // Sources lie above every target, so that no target overwrites a source that another one still needs, and none
    // meets itself, which would leave it closed on exec.
    let targetCount = max(3, (descriptors.keys.max() ?? 2) + 1)
    let null = try FileDescriptor.null()
    var sources: [Int32] = []
    defer { for source in sources where source >= 0 { _ = close(source) } }
    for target in 0..<targetCount {
      if let descriptor = descriptors[target] ?? (target <= 2 ? null.number : nil) {
        sources.append(
          try systemCall("fcntl", FileDescriptor.subject(of: descriptor)) {
            fcntl(descriptor, F_DUPFD_CLOEXEC, targetCount)
          })
      } else {
        sources.append(-1)
      }
    }
    return try spawn(
      CStringArray([executable] + arguments), CStringArray(environment),
      CStringArray([executable, workingDirectory ?? ""]),
      sources: sources)
  }

  private func spawn(
    _ arguments: CStringArray, _ environment: CStringArray, _ paths: CStringArray, sources: [Int32]
  ) throws(SystemError) -> Int32 {
    var launch = linux_launch()
    launch.executable = UnsafePointer(paths.pointers[0])
    launch.arguments = UnsafePointer(arguments.pointers)
    launch.environment = UnsafePointer(environment.pointers)
    launch.directory = workingDirectory == nil ? nil : UnsafePointer(paths.pointers[1])
    launch.mode_mask = fileModeMask.map(Int32.init) ?? -1
    launch.sets_niceness = niceness == nil ? 0 : 1
    launch.niceness = niceness ?? 0
    launch.sets_user = user == nil ? 0 : 1
    launch.user = user?.user ?? 0
    launch.group = user?.group ?? 0
    launch.parent = diesWithParent ? getpid() : 0
    let limits = self.limits.map { linux_limit(resource: $0.key.resource, value: $0.key.bounds($0.value)) }
    let groups = user?.groups ?? []
    let processID = sources.withUnsafeBufferPointer { sources in
      limits.withUnsafeBufferPointer { limits in
        groups.withUnsafeBufferPointer { groups in
          launch.sources = sources.baseAddress
          launch.source_count = Int32(sources.count)
          launch.limits = limits.baseAddress
          launch.limit_count = Int32(limits.count)
          launch.groups = groups.baseAddress
          launch.group_count = Int32(groups.count)
          return withExtendedLifetime((arguments, environment, paths)) { linux_spawn(&launch) }
        }
      }
    }
    if processID >= 0 { return processID }
    let call = launch.failed_call.map { String(cString: $0) } ?? "clone"
    throw SystemError(
      .init(rawValue: launch.error), call: call, subject: call == "chdir" ? workingDirectory : executable)
  }
}
