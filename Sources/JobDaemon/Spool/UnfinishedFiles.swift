import SystemSupport

/// The times of further looks at files in `new/` that were open for writing.
///
/// The kernel reports a close a moment before it forgets that the file was open for writing, so a look right after the
/// event may come too early, and no other event follows. So a file is looked at six times more within seven seconds, at
/// intervals that grow fourfold; after that only the next event counts. A value without a clock.
struct UnfinishedFiles {
  /// The number of files that are remembered; beyond that the whole folder is scanned once more, later.
  static let limit = 4_096
  private static let attemptLimit = 6

  private var attempts: [FileName: Int] = [:]

  /// Notes that a file was found open; returns the milliseconds until the next look, or nil to wait for an event.
  mutating func delay(for name: FileName) -> Int? {
    let attempt = attempts[name, default: 0]
    guard attempt < Self.attemptLimit, attempt > 0 || attempts.count < Self.limit else {
      attempts[name] = nil
      return nil
    }
    attempts[name] = attempt + 1
    return 5 << (2 * attempt)
  }

  /// Forgets a file that has changed or was claimed: its looks begin anew.
  mutating func forget(_ name: FileName) { attempts[name] = nil }

  /// True if the next look at a file is the last: then an empty one is claimed as it is.
  func isLast(_ name: FileName) -> Bool { attempts[name] == Self.attemptLimit }

  var isFull: Bool { attempts.count >= Self.limit }
}
