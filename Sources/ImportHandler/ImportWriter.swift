import ObjectGraph
import Synchronization

/// A queue of packed rows for the writer, while the import continues to read.
///
/// The writer's executor takes flushes and the transactions of all imports in turn, each of a bounded size, so that a
/// small job's flush waits for one transaction of each running import at most.
final class ImportWriter: Sendable {
  private typealias Queue = ChunkQueue<ImportChunk, ChunkWriter>

  private struct State {
    /// Nil if there are no chunks to write.
    var queue: Queue?
    /// The caller that waits for room, or for the end.
    var waiter: CheckedContinuation<Void, Never>?

    var hasUnwritten: Bool { (queue?.unwritten ?? 0) > 0 }
  }

  /// The writer, above which is the store, and the contexts between it and the job's.
  private let root: ManagedObjectContext
  private let others: [ManagedObjectContext]
  private let state: Mutex<State>
  private let mayWrite: @Sendable () throws -> Void
  private let onProgress: @Sendable (ChunkWriter) throws -> Void

  /// Chunks that are read ahead: one is written while the next is read, and a few more even out the rest.
  private static let depth = 3

  /// - Parameters:
  ///   - mayWrite: called on the writer before each transaction of chunks; throws if the attempt has ended.
  ///   - onProgress: called after each transaction; what it throws ends the import.
  init(
    _ context: ManagedObjectContext, _ chunks: ChunkWriter? = nil,
    mayWrite: @escaping @Sendable () throws -> Void = {},
    onProgress: @escaping @Sendable (ChunkWriter) throws -> Void = { _ in }
  ) {
    let above = Array(sequence(first: context, next: \.parent).dropFirst())
    root = above.last ?? context
    others = Array(above.dropLast())
    state = Mutex(State(queue: chunks.map(Queue.init)))
    self.mayWrite = mayWrite
    self.onProgress = onProgress
  }

  /// Hands a chunk to the writer; waits while too many are unwritten.
  func write(_ chunk: ImportChunk) async throws {
    if try withQueue({ queue in try queue.add(chunk) }) { schedule() }
    try await wait { $0.unwritten < Self.depth }
  }

  /// Waits until everything is on disk, and returns the cursor.
  func finish() async throws -> ImportCursor {
    try await wait { $0.unwritten == 0 }
    return try withQueue { queue in try queue.progress.cursor }
  }

  private func withQueue<Value: Sendable>(_ body: @Sendable (inout Queue) throws -> Value) throws -> Value {
    try state.withLock { state in
      guard var queue = state.queue else { preconditionFailure("chunks need somebody who writes them") }
      defer { state.queue = queue }
      return try body(&queue)
    }
  }

  /// Drops what is not being written, and waits until nothing is.
  ///
  /// To be called before an import ends with an error: then its rows may be reverted.
  func stop() async {
    state.withLock { $0.queue?.dropWaiting() }
    while state.withLock({ $0.hasUnwritten }) {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if !state.hasUnwritten { return true }
          state.waiter = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    }
  }

  private func wait(until isDone: @escaping @Sendable (Queue) -> Bool) async throws {
    while true {
      await withCheckedContinuation { continuation in
        let mayGoOn = state.withLock { state in
          guard let queue = state.queue, !queue.hasFailed, !isDone(queue) else { return true }
          state.waiter = continuation
          return false
        }
        if mayGoOn { continuation.resume() }
      }
      let isOver = try withQueue { queue in
        _ = try queue.progress
        return isDone(queue)
      }
      if isOver { return }
    }
  }

  private func schedule() { root.perform { self.writeWaiting($0) } }

  private func writeWaiting(_ root: isolated ManagedObjectContext) {
    guard let (chunks, writer) = state.withLock({ $0.queue?.begin() }) else { return }
    let outcome: Result<ChunkWriter, any Error>
    do {
      try mayWrite()
      let (written, news) = try root.executePacked { transaction in
        var writer = writer
        for chunk in chunks { try writer.write(chunk, &transaction) }
        try writer.save(&transaction)
        return Box(writer)
      }
      tell(news)
      try onProgress(written.value)
      outcome = .success(written.value)
    } catch {
      outcome = .failure(error)
    }
    end(chunks.count, outcome)
  }

  private func end(_ count: Int, _ outcome: Result<ChunkWriter, any Error>) {
    let (waiter, again) = state.withLock { state in
      let again = state.queue?.end(count, outcome) ?? false
      defer { state.waiter = nil }
      return (state.waiter, again)
    }
    // After work that has reached the writer in the meantime.
    if again { schedule() }
    waiter?.resume()
  }

  /// Runs one transaction on the writer.
  func run<Result: Sendable>(
    _ body: @escaping @Sendable (inout PackedTransaction) throws -> Result
  ) async throws -> Result {
    let (result, news) = try await root.perform { try $0.executePacked(body) }
    tell(news)
    return result
  }

  private func tell(_ news: PackedNews) {
    for context in others.reversed() { context.perform { $0.mergeChanges(fromPacked: news) } }
  }

  /// A value that leaves a transaction.
  private struct Box: @unchecked Sendable {
    // @unchecked: properties of a model are written once, before anybody has them.
    let value: ChunkWriter
    init(_ value: ChunkWriter) { self.value = value }
  }
}

extension ImportWriter {
  /// Deletes the rejects of an earlier run of the job, in steps short enough for others.
  func removeRejects(of records: ImportRecords) async throws {
    while true {
      let ids = try records.rejectIDs(limit: 10_000)
      if ids.isEmpty { return }
      try await run { transaction in _ = try transaction.delete(ids) }
    }
  }
}
