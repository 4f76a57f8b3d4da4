import Foundation
import Synchronization

/// A finished file that waits for a store to take it over; removed with its last holder unless a store did.
package final class StagedFile: Sendable {
  package let path: String
  package let byteCount: Int
  private let adoptedPath = Mutex<String?>(nil)

  package init(path: String, byteCount: Int) {
    self.path = path
    self.byteCount = byteCount
  }

  /// Notes that a store owns the file now, at a new path.
  package func markAdopted(as path: String) { adoptedPath.withLock { $0 = path } }

  /// Where the file lies now.
  package var currentPath: String { adoptedPath.withLock { $0 } ?? path }

  /// Whether a store has taken the file over.
  package var isAdopted: Bool { adoptedPath.withLock { $0 != nil } }

  deinit {
    // A file that is gone already is what we want; nobody is left to be told of another failure.
    if !isAdopted { try? FileManager.default.removeItem(atPath: path) }
  }
}
