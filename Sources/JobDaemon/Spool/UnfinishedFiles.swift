import SystemSupport

/// When to look again at files in `new/` that somebody had open for writing.
///
/// The kernel tells of a close a moment before it forgets that the file was open for writing, so a look right after the
/// event may come too early, and no other event follows. So a file is looked at six times more within seven seconds, at
/// intervals that grow fourfold; after that only the next event counts. A value without a clock.
struct UnfinishedFiles {
  /// How many files are remembered; beyond that the whole folder is looked through once more, later.
  static let limit = 4_096
  private static let attemptLimit = 6

  private var attempts: [FileName: Int] = [:]

  /// A file was found open; returns after how many milliseconds to look at it again, or nil for no more than an event.
  mutating func delay(for name: FileName) -> Int? {
    let attempt = attempts[name, default: 0]
    guard attempt < Self.attemptLimit, attempt > 0 || attempts.count < Self.limit else {
      attempts[name] = nil
      return nil
    }
    attempts[name] = attempt + 1
    return 5 << (2 * attempt)
  }

  /// Something has happened to a file, or it was taken: it begins anew.
  mutating func forget(_ name: FileName) { attempts[name] = nil }

  /// Whether the next look at a file is the last: then an empty one is taken as it is.
  func isLast(_ name: FileName) -> Bool { attempts[name] == Self.attemptLimit }

  var isFull: Bool { attempts.count >= Self.limit }
}
