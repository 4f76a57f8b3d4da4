import CLinux
import Glibc

/// A bound on what a process may use: this one, or a child that is started with it.
package enum ResourceLimit: Sendable, Hashable {
  /// Seconds of processor time, then SIGXCPU, a second later SIGKILL.
  case processorTime
  /// Bytes of address space, then allocation fails.
  case addressSpace
  /// Bytes per file, then EFBIG or SIGXFSZ.
  case fileSize
  /// Bytes of a core dump.
  case coreSize
  /// One more than the highest descriptor.
  case openFiles

  /// Sets the limit for the rest of this process's life; it can only be lowered again.
  package func set(_ value: UInt64) throws(SystemError) {
    var limits = bounds(value)
    try systemCall("setrlimit", "\(self)") { setrlimit(resource, &limits) }
  }

  /// The kernel's two limits: a soft one, exceeded with a warning, and a hard one.
  func bounds(_ value: UInt64) -> rlimit {
    // The kernel sends SIGXCPU at the soft limit and SIGKILL at the hard one: leave a second to say why.
    let hard = if case .processorTime = self, value < .max { value + 1 } else { value }
    return rlimit(rlim_cur: rlim_t(value), rlim_max: rlim_t(hard))
  }

  /// The limit in force.
  package func current() throws(SystemError) -> UInt64 {
    var limits = rlimit()
    try systemCall("getrlimit", "\(self)") { getrlimit(resource, &limits) }
    return UInt64(limits.rlim_cur)
  }

  var resource: Int32 {
    let resource =
      switch self {
      case .processorTime: RLIMIT_CPU
      case .addressSpace: RLIMIT_AS
      case .fileSize: RLIMIT_FSIZE
      case .coreSize: RLIMIT_CORE
      case .openFiles: RLIMIT_NOFILE
      }
    return Int32(resource.rawValue)
  }
}
