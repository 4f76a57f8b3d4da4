import Testing

@testable import ImportHandler

@Suite("Chunks of an import that wait for the writer")
struct ChunkQueueTests {
  private struct Failure: Error {}

  @Test("A transaction has all chunks that wait, and another one follows for those that come meanwhile")
  func inOrder() throws {
    // Its progress is the last chunk that is on disk.
    var queue = ChunkQueue<Int, Int>(from: 0)
    let isFirst = try queue.add(1)
    let isSecond = try queue.add(2)
    #expect(isFirst && !isSecond)
    let begun = queue.begin()
    let first = try #require(begun)
    #expect(first.chunks == [1, 2] && first.progress == 0)
    _ = try queue.add(3)
    #expect(queue.unwritten == 3)
    let hasMore = queue.end(2, .success(2))
    #expect(hasMore && queue.unwritten == 1)
    let next = queue.begin()
    let second = try #require(next)
    #expect(second.chunks == [3] && second.progress == 2)
    let isAgain = queue.end(1, .success(3))
    #expect(try !isAgain && queue.progress == 3)
    let isScheduled = try queue.add(4)
    #expect(isScheduled)
  }

  @Test("Nothing is written after a transaction that failed: its rows would be passed over")
  func afterFailure() throws {
    var queue = ChunkQueue<Int, Int>(from: 0)
    _ = try queue.add(1)
    _ = queue.begin()
    // It waits while the transaction fails.
    _ = try queue.add(2)
    let isAgain = queue.end(1, .failure(Failure()))
    #expect(!isAgain && queue.hasFailed)
    // A transaction that was under way already, and a chunk that comes later.
    let begun = queue.begin()
    #expect(begun == nil)
    #expect(throws: Failure.self) { _ = try queue.add(3) }
    let later = queue.begin()
    #expect(later == nil)
    #expect(throws: Failure.self) { _ = try queue.progress }
    queue.dropWaiting()
    #expect(queue.unwritten == 0)
  }

  @Test("What was dropped is not written, and what comes afterwards is")
  func dropped() throws {
    var queue = ChunkQueue<Int, Int>(from: 0)
    _ = try queue.add(1)
    queue.dropWaiting()
    #expect(queue.unwritten == 0)
    let begun = queue.begin()
    #expect(begun == nil)
    let isScheduled = try queue.add(2)
    let next = queue.begin()
    #expect(isScheduled && next?.chunks == [2])
  }
}
