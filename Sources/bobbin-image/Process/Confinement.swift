internal import Glibc
internal import ImageProtocol

/// What the kernel holds this process to, so that a hostile picture costs no more than its helper.
enum Confinement {
  /// Sets the limits that hold for the life of the process.
  static func apply(_ arguments: ImageHelperArguments) throws(ImageError) {
    try set(RLIMIT_AS, "address space", soft: rlim_t(arguments.addressSpace), hard: rlim_t(arguments.addressSpace))
    try set(RLIMIT_FSIZE, "file size", soft: rlim_t(arguments.outputBytes), hard: rlim_t(arguments.outputBytes))
    try set(RLIMIT_CORE, "core size", soft: 0, hard: 0)
    // A write beyond the limit then fails with EFBIG, which becomes an answer instead of a death.
    signal(SIGXFSZ, SIG_IGN)
    signal(SIGPIPE, SIG_IGN)
  }

  /// Allows this much more processor time than has been used so far; the kernel counts over the process's life.
  static func allowProcessorTime(seconds: Int) throws(ImageError) {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let used = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1
    var current = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &current)
    // At the soft limit the kernel sends SIGXCPU, which ends the process; the hard limit stays for the next request.
    try set(RLIMIT_CPU, "processor time", soft: min(rlim_t(used + seconds), current.rlim_max), hard: current.rlim_max)
  }

  private static func set(
    _ resource: __rlimit_resource, _ name: String, soft: rlim_t, hard: rlim_t
  ) throws(ImageError) {
    var limit = rlimit(rlim_cur: soft, rlim_max: hard)
    guard setrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else {
      let reason = String(cString: strerror(errno))
      throw ImageError(.helperUnavailable, "the limit on \(name) can't be set: \(reason)", permanent: false)
    }
  }
}
