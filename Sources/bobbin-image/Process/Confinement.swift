internal import CLinux
internal import Glibc
internal import ImageProtocol
internal import SystemSupport

/// What the kernel holds this process to, so that a hostile picture costs no more than its helper.
enum Confinement {
  /// Sets what holds for the life of the process.
  static func apply(_ arguments: ImageHelperArguments) throws(SystemError) {
    // Ends a helper that is stuck in a picture; an idle one notices its closed socket.
    try ParentProcess.signalAtItsEnd()
    // As root's child it would otherwise have root's rights over what it has open.
    try Capabilities.drop()
    try ResourceLimit.fileSize.set(UInt64(arguments.outputBytes))
    try ResourceLimit.coreSize.set(0)
    // A write beyond the limit then fails with EFBIG, which becomes an answer instead of a death.
    signal(SIGXFSZ, SIG_IGN)
    signal(SIGPIPE, SIG_IGN)
  }

  /// Gives what a large picture has left in the heap back to the system.
  static func releaseMemory(after used: Int) {
    if used > 32 << 20 { _ = malloc_trim(0) }
  }

  /// Allows this much more processor time than has been used so far; the kernel counts over the process's life.
  static func allowProcessorTime(seconds: Int) throws(ImageError) {
    do {
      var usage = rusage()
      try systemCall("getrusage") { getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) }
      let used = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1
      let resource = __rlimit_resource_t(RLIMIT_CPU.rawValue)
      var limit = rlimit()
      try systemCall("getrlimit") { getrlimit(resource, &limit) }
      // At the soft limit the kernel sends SIGXCPU, which ends the process. Unlike the hard limit, which stays as it
      // is, it can be raised again for the next request.
      let (wanted, overflow) = used.addingReportingOverflow(seconds)
      limit.rlim_cur = overflow ? limit.rlim_max : min(rlim_t(wanted), limit.rlim_max)
      try systemCall("setrlimit", "processor time") { setrlimit(resource, &limit) }
    } catch {
      throw ImageError(.helperUnavailable, "processor time can't be limited: \(error)", permanent: false)
    }
  }
}
