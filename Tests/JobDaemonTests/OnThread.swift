import Foundation
import TestSupport

/// Runs blocking work on a thread of its own and waits for it, within a generous time.
func onThread<Result: Sendable>(
  fileID: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withTimeout(seconds: 60, fileID: fileID, line: line) {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: .init(catching: body)) }
    }
  }
}
