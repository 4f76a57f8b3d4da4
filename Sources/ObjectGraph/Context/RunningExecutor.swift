/// The executors whose work the calling thread is doing, innermost first, as addresses to compare.
///
/// There are several if work waits for another executor's work that then runs on the same thread.
enum RunningExecutor {
  private struct Frame {
    let executor: UnsafeRawPointer
    let outer: UnsafePointer<Frame>?
  }

  private static let pointer = ThreadPointer()

  private static var innermost: UnsafePointer<Frame>? {
    get { UnsafePointer(pointer.value?.assumingMemoryBound(to: Frame.self)) }
    set { pointer.value = UnsafeMutableRawPointer(mutating: newValue) }
  }

  /// The executor whose work the thread is doing now.
  static var current: UnsafeRawPointer? { innermost?.pointee.executor }

  /// True if the thread does that executor's work, now or once its current work has returned.
  static func contains(_ executor: UnsafeRawPointer) -> Bool {
    var frame = innermost
    while let present = frame {
      if present.pointee.executor == executor { return true }
      frame = present.pointee.outer
    }
    return false
  }

  /// Runs work as that executor's.
  static func run<Result>(_ executor: UnsafeRawPointer, _ work: () throws -> Result) rethrows -> Result {
    let outer = innermost
    return try withUnsafePointer(to: Frame(executor: executor, outer: outer)) { frame in
      innermost = frame
      defer { innermost = outer }
      return try work()
    }
  }
}
