/// The reply of `GET /v1/status`; what an older or newer daemon may leave out is optional.
struct StatusReply: Decodable {
  struct Workers: Decodable {
    let count: Int
    let busy: Int
  }

  struct Writer: Decodable {
    let unflushedObjects: Int?
    let unflushedBytes: Int?
    let oldestUnflushedSeconds: Double?
    let flushes: Int?
    let lastFlushSeconds: Double?
    let lastError: String?
  }

  /// The times for which the main context was occupied.
  struct Main: Decodable {
    let occupations: Int?
    let p50Seconds: Double?
    let p99Seconds: Double?
    let maxSeconds: Double?
  }

  /// A queue, a type or everything that starts no jobs.
  struct Pause: Decodable {
    /// `all`, `queue` or `type`.
    let kind: String
    let name: String?

    var words: String { kind == "all" ? "everything" : "the \(kind) \"\(name ?? "")\"" }
  }

  let version: String
  let state: String
  let pid: Int?
  let startedAt: Timestamp?
  let uptimeSeconds: Double?
  let spool: String?
  let store: String?
  let workers: Workers?
  /// By state.
  let jobs: [String: Int]?
  let pauses: [Pause]?
  let rejectedFiles: Int?
  let writer: Writer?
  let main: Main?
}
