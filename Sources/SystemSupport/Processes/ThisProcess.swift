import CLinux
import Glibc

/// The program this process runs.
package enum Executable {
  /// Its absolute path, from the kernel, not from the arguments.
  package static func ownPath() throws(SystemError) -> String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try systemCall("readlink", "/proc/self/exe") { readlink("/proc/self/exe", &buffer, buffer.count) }
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The directory it lies in, where the programs installed with it are.
  package static func ownDirectory() throws(SystemError) -> String {
    let path = try ownPath()
    let directory = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
    return directory.isEmpty ? "/" : String(directory)
  }
}

/// The process that started this one.
package enum ParentProcess {
  /// Asks the kernel to send this process a signal when its parent ends.
  ///
  /// The signal follows the parent's *thread*; ``ChildProcess`` starts children on a thread that lasts.
  ///
  /// - Parameter expected: The parent's process ID, if it is known.
  /// - Throws: ``SystemError/Code/noProcess`` when the parent has ended already.
  package static func signalAtItsEnd(_ signal: Int32 = SIGKILL, expected: Int32? = nil) throws(SystemError) {
    let before = getppid()
    try systemCall("prctl", "PR_SET_PDEATHSIG") { linux_set_parent_death_signal(signal) }
    let parent = getppid()
    if parent != before || parent != expected ?? parent {
      throw SystemError(.noProcess, call: "getppid", subject: "process \(expected ?? before)")
    }
  }
}

/// The memory of this process.
package enum ProcessMemory {
  /// Returns memory that the allocator keeps to the system; takes milliseconds, so not to be called often.
  package static func returnUnused() { _ = malloc_trim(0) }

  /// Limits the allocator to a few arenas, instead of eight for each processor.
  ///
  /// Long-lived blocks are spread over all arenas, between freed ones, and a page of which a few bytes are used can't be
  /// returned. To be called before the first thread starts; `MALLOC_ARENA_MAX` in the environment takes precedence.
  ///
  /// - Parameter count: The number of arenas; threads that share one wait for each other.
  package static func limitArenas(to count: Int32) {
    if getenv("MALLOC_ARENA_MAX") == nil { mallopt(M_ARENA_MAX, count) }
  }
}

/// The traces of this process's work.
package enum ProcessActivity {
  /// The number of blocks of files that it has written and read so far, in all its threads; it grows while a disk is used.
  package static var fileBlocks: UInt64 {
    var usage = rusage()
    // Can't fail: the address is ours.
    _ = getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return UInt64(bitPattern: Int64(usage.ru_oublock) &+ Int64(usage.ru_inblock))
  }
}

/// The priority of this process among others, and of the programs that it starts.
package enum ProcessPriority {
  /// True if it may be lowered. The service manager may forbid the call, even for the priority that the process has.
  package static var canBeLowered: Bool {
    // The priority of the calling thread, which may be less favoured than the others.
    setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0))
      == 0
  }
}

/// The rights of a process beyond those of its user, capabilities(7).
package enum Capabilities {
  /// Clears the ambient capabilities, so that programs started from now on inherit none from the service manager.
  ///
  /// Holds for the calling thread and those that it starts: call it before there are others.
  package static func keepFromChildren() throws(SystemError) {
    try systemCall("prctl", "PR_CAP_AMBIENT") { linux_clear_ambient_capabilities() }
  }

  /// Drops all of them for good from this thread and those it starts; a root process keeps its user ID.
  ///
  /// Call it before there are other threads.
  package static func drop() throws(SystemError) {
    try systemCall("capset") { linux_drop_capabilities() }
  }
}

/// Confinement of a process that handles untrusted files.
package enum OpenFilesOnly {
  /// Confines this process for good to memory, threads and what it has open.
  ///
  /// It can't open, create, remove or look up files, create sockets, start programs or signal others: such calls fail
  /// with EPERM. Files are reached by descriptors that are open already, or come through a socket.
  ///
  /// The process must use neither Swift's concurrency nor Dispatch: libdispatch reads the state of its threads from
  /// `/proc` once a second, and ends the process if it can't.
  /// - Throws: ``SystemError`` where the kernel or the machine has no such filter.
  package static func enter() throws(SystemError) {
    try systemCall("seccomp") { linux_confine_to_open_files() }
  }
}

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

/// The processor time and the memory of this process.
package struct ProcessUsage: Sendable {
  /// The time of all processors, in seconds.
  package let cpuSeconds: Double
  /// The memory that it occupies, in bytes.
  package let residentBytes: Int

  package init() throws(SystemError) {
    var usage = rusage()
    try systemCall("getrusage") { getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) }
    cpuSeconds = Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
    // Pages: the whole, and those that are resident.
    let numbers = try FileDescriptor.open("/proc/self/statm").readAll(limit: 4_096).split(separator: UInt8(ascii: " "))
    let pages = numbers.count > 1 ? Int(String(decoding: numbers[1], as: UTF8.self)) ?? 0 : 0
    residentBytes = pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}
