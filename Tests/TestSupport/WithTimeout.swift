/// Says which wait of a test took too long.
package struct TimeoutError: Error, CustomStringConvertible {
  let seconds: Double
  let place: String

  package var description: String { "still waiting after \(seconds) s at \(place)" }
}

/// What limits are multiplied by: they keep a test from waiting for ever, and must not end one that waits for its turn beside
/// many others on few cores.
private let patience = 4.0

/// Runs `body` and throws ``TimeoutError`` when it isn't done in time, so that a test fails instead of hanging.
///
/// `body` is cancelled at the deadline; a `body` that ignores cancellation is abandoned, not waited for.
package func withTimeout<Result: Sendable>(
  seconds: Double = 60, fileID: StaticString = #fileID, line: UInt = #line,
  _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  let seconds = seconds * patience
  let outcome = FirstOutcome<Result>()
  let work = Task {
    do { outcome.set(.success(try await body())) } catch { outcome.set(.failure(error)) }
  }
  let timer = Task {
    try await Task.sleep(for: .seconds(seconds))
    outcome.set(.failure(TimeoutError(seconds: seconds, place: "\(fileID):\(line)")))
  }
  defer {
    work.cancel()
    timer.cancel()
  }
  return try await withTaskCancellationHandler {
    try await outcome.value()
  } onCancel: {
    outcome.set(.failure(CancellationError()))
  }
}
