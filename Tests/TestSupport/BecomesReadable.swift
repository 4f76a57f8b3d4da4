import SystemSupport

extension FileDescriptor {
  /// Waits until something can be read or the other end is closed, and keeps no thread meanwhile: with two of the
  /// cooperative pool on a small machine, a test that blocks one may wait for work that has no thread left.
  ///
  /// - Throws: ``TimeoutError``, or a ``SystemError`` if it can't be waited for.
  package func becomesReadable(
    withinSeconds seconds: Double, fileID: StaticString = #fileID, line: UInt = #line
  ) async throws {
    let outcome = FirstOutcome<Void>()
    let wait = try ReadinessThread.shared.whenReadable(number) { outcome.set(.success(())) }
    defer { _ = ReadinessThread.shared.cancel(wait) }
    try await withTimeout(seconds: seconds, fileID: fileID, line: line) { try await outcome.value() }
  }
}
