import DaemonTesting
import JSONText
import SystemSupport
import Testing

extension DaemonProcess {
  /// Waits until a request is answered as wanted; each look waits for the daemon.
  func get(_ path: String, until isWanted: (JSONValue) -> Bool) async throws -> JSONValue {
    let deadline = ContinuousClock.now + .seconds(30)
    while true {
      let body = try await get(path)
      if isWanted(body) { return body }
      try #require(ContinuousClock.now < deadline, "\(path): \(body.serialized())\n\(logText)")
    }
  }

  /// Drops a good job file, and checks that it is done while the only other thing in the spool went to `failed/`.
  ///
  /// - Parameters:
  ///   - kept: the name of the bad file in `failed/`.
  ///   - reason: what must stand in its `.reason`.
  ///   - isJob: whether the file was accepted and its job "bad" has failed, or it was refused as a file.
  func expectOnlyGood(
    kept: FileName, reason: String, isJob: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try root.drop(#"{"type": "noop", "id": "good"}"#, as: "good.json")
    try await waitUntilSpoolIsEmpty()
    let (failed, given) = (try root.failedFiles, try root.reason(kept))
    #expect(failed == [kept, kept.appending(".reason")], sourceLocation: sourceLocation)
    #expect(given == "\(kept): \(reason)\n", sourceLocation: sourceLocation)
    let jobs = try await root.sql("SELECT id, state FROM Job ORDER BY id")
    #expect(jobs == (isJob ? "bad|discarded\n" : "") + "good|completed", sourceLocation: sourceLocation)
    let rows = try await root.sql("SELECT (SELECT count(*) FROM Reading) + (SELECT count(*) FROM Image)")
    #expect(rows == "0", sourceLocation: sourceLocation)
    let refused = try await get("/v1/status")["refusedFiles"]?.integer
    #expect(refused == (isJob ? 0 : 1), sourceLocation: sourceLocation)
    let health = try await request("GET", "/healthz").status
    #expect(health == 200, sourceLocation: sourceLocation)
    let end = try await stop()
    #expect(end == .exited(code: 0), sourceLocation: sourceLocation)
  }
}
