internal import Glibc
internal import SystemSupport

extension ImageError {
  static let poolIsShutDown = ImageError(.shutDown, "the image helpers are being shut down", permanent: false)
  static let waitedTooLongForMemory = ImageError(
    .timedOut, "the image helpers' memory did not become free in time", permanent: false)
  static let waitedTooLong = ImageError(.timedOut, "no image helper became free in time", permanent: false)

  /// A picture that takes more memory than all helpers together may have.
  static func needsTooMuch(_ memory: Int, of all: Int) -> ImageError {
    ImageError(
      .tooLarge,
      "the picture needs about \(memory >> 20) MiB of memory; [Image] MemoryBudget leaves \(all >> 20) MiB to pictures: "
        + "allow more, or ask for smaller outputs", permanent: true)
  }

  /// A helper that ended in the middle of a job; trying again may go better, a limited number of times.
  static func helperDied(_ termination: Termination, request: ImageRequest, lastWords: String?) -> ImageError {
    if termination.status == .signaled(signal: SIGXCPU) {
      // It would take as much again, whatever else the machine does.
      return ImageError(
        .timedOut,
        "the picture took more than \(request.limits.processorSeconds) s of processor time; ask for less effort or "
          + "smaller outputs, or allow more in [Image] TimeoutSec", permanent: true)
    }
    var message = "the image helper ended in the middle of the job: \(termination.status)"
    if termination.status == .signaled(signal: SIGKILL) { message += ", as the kernel does when memory runs out" }
    if let lastWords { message += "; it said: \(lastWords)" }
    return ImageError(.helperDied, message, permanent: false)
  }
}

extension Deadline {
  /// The one that comes first.
  func earlier(_ other: Deadline) -> Deadline {
    guard let mine = instant, let theirs = other.instant else { return instant == nil ? other : self }
    return .at(min(mine, theirs))
  }
}
