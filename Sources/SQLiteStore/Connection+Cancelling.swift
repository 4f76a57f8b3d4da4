internal import CSQLite

extension Connection {
  /// How many steps of SQLite's machine to run between two looks at the task; some microseconds.
  private static let stepCount: Int32 = 1_000

  /// Runs statements that, if they are to, end with a `CancellationError` when the task that runs them is cancelled.
  func endingEarly<Result>(_ isCancellable: Bool, _ body: () throws -> Result) throws -> Result {
    guard isCancellable else { return try body() }
    try Task.checkCancellation()
    // Asked on the thread that runs the statement, so no statement of somebody else is ever interrupted.
    sqlite3_progress_handler(rawHandle, Self.stepCount, { _ in Task.isCancelled ? 1 : 0 }, nil)
    defer { sqlite3_progress_handler(rawHandle, 0, nil, nil) }
    do { return try body() } catch {
      try Task.checkCancellation()
      throw error
    }
  }
}
