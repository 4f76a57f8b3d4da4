import Foundation
import Synchronization
import SystemSupport

/// Reads a child's output piece by piece, as it is asked for: a child that writes faster waits.
///
/// One task reads. The end is that of the pipe, or of what is in it when ``finish()`` was called: a process that holds
/// the pipe open beyond the child's end blocks nothing.
final class PipeReader: Sendable {
  private static let pieceSize = 64 << 10
  /// More than any pipe holds that was made without privileges.
  private static let pipeLimit = 1 << 20

  private struct State {
    var isFinished = false
    /// The number of bytes that may still be read after the finish.
    var rest = PipeReader.pipeLimit
    var waiting: Waiting?
  }

  fileprivate struct Waiting {
    let wait: ReadinessThread.Wait
    let continuation: CheckedContinuation<Bool, Never>
  }

  private let descriptor: FileDescriptor
  private let state = Mutex(State())

  /// Takes over the reading end of a pipe.
  init(_ descriptor: consuming FileDescriptor) throws(SystemError) {
    try descriptor.setNonBlocking(true)
    self.descriptor = descriptor
  }

  /// The next bytes; nil at the end.
  func next() async -> [UInt8]? {
    while true {
      // Looked at before reading: what the child wrote last is in the pipe when this is set.
      let (isFinished, rest) = state.withLock { ($0.isFinished, $0.rest) }
      if isFinished && rest <= 0 { return nil }
      var bytes = [UInt8](repeating: 0, count: Self.pieceSize)
      do throws(SystemError) {
        let outcome = bytes.withUnsafeMutableBytes { buffer in
          Result { () throws(SystemError) in try descriptor.read(into: buffer) }
        }
        let count = try outcome.get()
        if count == 0 { return nil }
        if isFinished { state.withLock { $0.rest -= count } }
        bytes.removeLast(bytes.count - count)
        return bytes
      } catch {
        // Nothing but an empty pipe is possible here.
        if isFinished || error.code != .wouldBlock { return nil }
      }
      if await !readable() { return nil }
    }
  }

  /// Ends the reading with what is in the pipe now.
  func finish() {
    let waiting = state.withLock { state in
      state.isFinished = true
      return state.waiting.take()
    }
    waiting?.end()
  }

  /// Waits until there is something to read, or the finish; false if that can't be waited for.
  private func readable() async -> Bool {
    await withCheckedContinuation { continuation in
      let wait: ReadinessThread.Wait
      do throws(SystemError) {
        // The call keeps this object, and so the descriptor.
        wait = try ReadinessThread.shared.whenReadable(descriptor.number) { [self] in
          withExtendedLifetime(self) { continuation.resume(returning: true) }
        }
      } catch {
        return continuation.resume(returning: false)
      }
      let waiting = Waiting(wait: wait, continuation: continuation)
      let isFinished = state.withLock { state in
        if !state.isFinished { state.waiting = waiting }
        return state.isFinished
      }
      if isFinished { waiting.end() }
    }
  }
}

extension PipeReader.Waiting {
  /// Ends the wait, if it has not ended.
  fileprivate func end() {
    if ReadinessThread.shared.cancel(wait) { continuation.resume(returning: true) }
  }
}
