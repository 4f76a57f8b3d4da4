internal import FoundationEssentials
internal import Glibc
internal import ImageProtocol
internal import SystemSupport

/// The address space that the kernel gives this process: what it begins with, and what its picture is going to need.
///
/// It is what remains if an estimate is wrong or a header lies: the picture fails, and not the machine.
struct AddressSpace {
  /// What the process has before its first picture, most of it libraries.
  private let idle: Int
  /// What it may have at most.
  private let most: Int

  /// What small pictures need, and what a helper may keep from one picture to the next before it is replaced.
  private static let reserve = 256 << 20
  /// What is reserved and never used: decoders of WebP take up to 2.3 times of what they need.
  private static let share = 2.5

  /// What WebP's decoder reserves when it reads a header, and fills when it decodes: the largest picture of 16383 pixels
  /// a side.
  private static let canvas = 1 << 30

  /// Looks at what the process has now; must come before it is confined.
  init(most: Int) throws(SystemError) {
    self.most = most
    let status: String
    do { status = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8) } catch {
      throw SystemError(.noEntry, call: "open", subject: "/proc/self/statm", hint: "is /proc mounted?")
    }
    idle = (status.split(separator: " ").first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
    try ResourceLimit.addressSpace.set(UInt64(most))
  }

  /// What a picture needs that takes so much memory, in bytes.
  ///
  /// - Parameter input: the size of its file, which decoders look at as a whole.
  private func need(_ memory: Int, input: Int) -> Int {
    let need = Double(idle + Self.reserve) + 2 * Double(input) + Self.share * Double(memory)
    return Int(min(need, Double(Int.max / 2)))
  }

  /// Refuses a picture that the process may not have the address space for.
  func check(_ memory: Int, input: Int) throws(ImageError) {
    let need = need(memory, input: input)
    guard need > most else { return }
    throw ImageError(
      .tooLarge,
      "the picture needs about \(memory >> 20) MiB of memory, and a helper with \(need >> 20) MiB of address space; "
        + "[Image] MemoryMax is \(most >> 20) MiB: allow more there and in MemoryBudget, or ask for "
        + "smaller outputs", permanent: true)
  }

  /// Lets the process have what a picture needs, and no more, until this is called again.
  func allow(_ memory: Int, input: Int) throws(ImageError) { try set(need(memory, input: input)) }

  /// Lets the process have what reading a header needs.
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
