/// The flusher's statistics, and what is unflushed.
struct FlushStatistics: Sendable {
  var flushes = 0
  var lastDuration: Duration?
  var lastError: String?
  var unflushedObjects = 0
  var unflushedBytes = 0
  var oldestUnflushed: Duration?
}
