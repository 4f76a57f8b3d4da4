import Foundation

/// Replies as Documentation/StatusAPI.md has them.
enum SampleReplies {
  static let status = """
    {"jobs":{"available":0,"completed":10,"computed":0,"discarded":1,"running":1,"sleeping":4},\
    "main":{"maxSeconds":0.001,"occupations":123,"p50Seconds":0.00001,"p99Seconds":0.0002},"pid":1,\
    "refusedFiles":2,"spool":"/s","startedAt":"2026-01-02T03:04:05Z","state":"running","store":"/d",\
    "uptimeSeconds":1.5,"version":"0.1.0","workers":{"busy":1,"count":2},"writer":{"flushes":3,"lastError":null,\
    "lastFlushSeconds":0.004,"oldestUnflushedSeconds":0.1,"unflushedBytes":70,"unflushedObjects":5}}
    """

  static let notFound =
    #"{"error":{"code":"not-found","hint":"see \"bobbinctl list\"","message":"there is no job \"x\""}}"#

  static let invalidJob = #"{"error":{"code":"invalid-job","message":"line 3: unknown key \"tpye\""}}"#

  /// A job with these changes; the values are JSON.
  static func job(_ id: String, _ changes: [String: String] = [:]) -> String {
    var fields = [
      "id": quoted(id), "type": #""image.encode""#, "queue": #""default""#, "priority": "0",
      "state": #""completed""#, "durable": "true", "attempt": "1", "maxAttempts": "5", "file": #""a.json""#,
      "submitter": "1000", "createdAt": #""2026-01-02T03:04:05Z""#, "startedAt": #""2026-01-02T03:04:06.250Z""#,
      "finishedAt": #""2026-01-02T03:04:07.500Z""#, "error": "null", "result": "null", "progress": "null",
    ]
    for (key, value) in changes { fields[key] = value }
    return "{" + fields.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
  }

  static let unfinished = ["state": #""running""#, "durable": "false", "finishedAt": "null"]
  static let accepted = ["state": #""available""#, "startedAt": "null", "finishedAt": "null"]
  static let discarded = ["state": #""discarded""#, "error": #""the picture is truncated""#]

  static func jobs(_ jobs: String..., total: Int? = nil, next: String? = nil, counts: String? = nil) -> String {
    #"{"jobs":["# + jobs.joined(separator: ",") + "]" + (total.map { ",\"count\":\($0),\"atLeast\":false" } ?? "")
      + (next.map { ",\"next\":\"\($0)\"" } ?? "") + (counts.map { ",\"counts\":\($0)" } ?? "") + "}"
  }

  private static func quoted(_ text: String) -> String {
    // A string is always JSON.
    (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}
