/// The chunks of an import that wait for the writer, and the place from which the next transaction continues.
///
/// A value without threads: ``ImportWriter`` carries out what follows from it. After a transaction that failed there is
/// no place to continue from, and so nothing more is written: a later chunk would move the import's cursor past the rows
/// that were lost with the failed one.
struct ChunkQueue<Chunk, Progress> {
  private enum Phase {
    case writing(from: Progress)
    case failed(any Error)
  }

  private var phase: Phase
  private var waiting: [Chunk] = []
  /// True while a transaction is under way or about to begin.
  private var isScheduled = false
  /// The number of chunks that were added and are neither on disk nor dropped.
  private(set) var unwritten = 0

  init(from progress: Progress) { phase = .writing(from: progress) }

  /// The place behind the last transaction.
  ///
  /// - Throws: the error of the transaction that failed.
  var progress: Progress {
    get throws {
      switch phase {
      case .writing(let progress): return progress
      case .failed(let error): throw error
      }
    }
  }

  /// True once a transaction has failed.
  var hasFailed: Bool { if case .failed = phase { true } else { false } }

  /// Adds a chunk; returns true if a transaction is to be scheduled for it.
  ///
  /// - Throws: the error of an earlier transaction.
  mutating func add(_ chunk: Chunk) throws -> Bool {
    _ = try progress
    waiting.append(chunk)
    unwritten += 1
    defer { isScheduled = true }
    return !isScheduled
  }

  /// The chunks of the transaction that begins now, and the place that it continues from; nil if there is nothing to
  /// write.
  mutating func begin() -> (chunks: [Chunk], progress: Progress)? {
    guard !waiting.isEmpty, case .writing(let progress) = phase else {
      isScheduled = false
      return nil
    }
    defer { waiting = [] }
    return (waiting, progress)
  }

  /// Notes the end of a transaction of some chunks; returns true if the next one is to be scheduled.
  mutating func end(_ count: Int, _ outcome: Result<Progress, any Error>) -> Bool {
    unwritten -= count
    switch outcome {
    case .success(let progress): phase = .writing(from: progress)
    case .failure(let error): phase = .failed(error)
    }
    isScheduled = !hasFailed && !waiting.isEmpty
    return isScheduled
  }

  /// Drops the chunks that no transaction has.
  mutating func dropWaiting() {
    unwritten -= waiting.count
    waiting = []
  }
}
