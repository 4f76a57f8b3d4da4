import CLinux
import FoundationEssentials
import Glibc
import ImageProtocol
import SystemSupport

/// The limits that the kernel enforces on this process, so that a hostile picture costs no more than its helper.
enum Confinement {
  /// Sets the limits that hold for the life of the process.
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

  /// Returns the memory that a large picture has left in the heap to the system.
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

/// The limit of this process's address space: its initial size, and the estimated need of its picture.
///
/// The last line of defence if an estimate is wrong or a header lies: the picture fails, and not the machine.
struct AddressSpace {
  /// The address space before the first picture, most of it libraries.
  private let idle: Int
  /// The most address space that it may have.
  private let most: Int

  /// Room for small pictures, and for what a helper may keep between pictures before it is replaced.
  private static let reserve = 256 << 20
  /// The factor for memory that is reserved and never used: decoders of WebP take up to 2.3 times of their need.
  private static let share = 2.5

  /// The memory that WebP's decoder reserves when it reads a header, and fills when it decodes: a picture of 16383
  /// pixels a side.
  private static let canvas = 1 << 30

  /// Reads the process's present address space; must be called before the process is confined.
  init(most: Int) throws(SystemError) {
    self.most = most
    let status: String
    do { status = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8) } catch {
      throw SystemError(.noEntry, call: "open", subject: "/proc/self/statm", hint: "is /proc mounted?")
    }
    idle = (status.split(separator: " ").first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
    try ResourceLimit.addressSpace.set(UInt64(most))
  }

  /// Returns the address space for a picture that takes some memory, in bytes.
  ///
  /// - Parameter input: the size of its file, which decoders look at as a whole.
  private func need(_ memory: Int, input: Int) -> Int {
    let need = Double(idle + Self.reserve) + 2 * Double(input) + Self.share * Double(memory)
    return Int(min(need, Double(Int.max / 2)))
  }

  /// Throws for a picture that needs more address space than the process may have.
  func check(_ memory: Int, input: Int) throws(ImageError) {
    let need = need(memory, input: input)
    guard need > most else { return }
    throw ImageError(
      .tooLarge,
      "the picture needs about \(memory >> 20) MiB of memory, and a helper with \(need >> 20) MiB of address space; "
        + "[Image] MemoryMax is \(most >> 20) MiB: allow more there and in MemoryBudget, or ask for "
        + "smaller outputs", permanent: true)
  }

  /// Limits the process to the address space that a picture needs, until the next call.
  func allow(_ memory: Int, input: Int) throws(ImageError) { try set(need(memory, input: input)) }

  /// Limits the process to the address space for reading a header.
  func allowHeader(input: Int) throws(ImageError) { try set(need(0, input: input) + Self.canvas) }

  private func set(_ wanted: Int) throws(ImageError) {
    // The hard limit stays, so that the soft one can be raised again.
    var limit = rlimit(rlim_cur: rlim_t(min(most, wanted)), rlim_max: rlim_t(most))
    do throws(SystemError) {
      try systemCall("setrlimit", "address space") { setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) }
    } catch {
      throw ImageError(.helperUnavailable, "address space can't be limited: \(error)", permanent: false)
    }
  }
}
