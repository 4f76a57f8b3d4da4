import Foundation

/// Runs blocking work on a thread of its own and waits for it, within a generous time.
package func onThread<Result: Sendable>(
  seconds: Double = 120, fileID: StaticString = #fileID, line: UInt = #line,
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withTimeout(seconds: seconds, fileID: fileID, line: line) {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: .init(catching: body)) }
    }
  }
}
