import DaemonTesting
import Foundation
import PostgresTesting
import TestSupport
import Testing

/// Hosts that fall silent, and the time until others know it.
extension FleetTrial {
  struct Takeover: CustomStringConvertible {
    /// The time from the fault until the database knew the host for lost, in seconds.
    let seconds: Double
    /// The host, as the ledger numbers it.
    let host: Int
    /// The beats that arrived from five seconds before the fault on: the host, and the seconds since the fault.
    let beats: [(host: Int, seconds: Double)]
    /// What the servers and the hosts were at when it became late.
    let lateState: String?

    var description: String {
      let beats = beats.map { String(format: "%ld at %.2f", $0.host, $0.seconds) }.joined(separator: ", ")
      return String(format: "%.2f s until host %ld was lost; beats: ", seconds, host) + beats + "\n" + (lateState ?? "")
    }
  }

  /// The time that others may take to know a silent host for lost, in seconds.
  static let takeoverLimit = 4.5

  /// Does something to a host that makes it silent, and waits until the database knows it for lost.
  func lose(_ index: Int, _ fault: (DaemonProcess, HostLink) async throws -> Void) async throws {
    let daemon = try daemon(index)
    let path = hosts[index].root.directory.path
    let number = try TestDatabase.run(
      "SELECT max(number) FROM bobbin._host WHERE state = 'alive' AND position('\(path)' IN root) > 0", url)
    guard let number else { return note(.other, "\(hosts[index].name) is not in the fleet") }
    let start = Date()
    try await fault(daemon, hosts[index].link)
    let url = url
    func awaitLoss(seconds: Double) async throws {
      try await onThread {
        try TestDatabase.wait(
          for: "EXISTS (SELECT 1 FROM trial.ended WHERE host = \(number))", at: url, channel: Self.channel,
          seconds: seconds)
      }
    }
    var lateState: String?
    do { try await awaitLoss(seconds: Self.takeoverLimit) } catch {
      lateState = state()
      try await awaitLoss(seconds: 20)
    }
    func seconds(_ moment: String?) -> Double {
      (moment.flatMap { Double($0) } ?? 0) - start.timeIntervalSince1970
    }
    let end = try TestDatabase.run("SELECT extract(epoch FROM at) FROM trial.ended WHERE host = \(number)", url)
    let beats = try TestDatabase.rows(
      """
      SELECT host, extract(epoch FROM at) FROM trial.beat
      WHERE at > to_timestamp(\(start.timeIntervalSince1970)) - interval '5 s' ORDER BY at
      """, url)
    takeovers.append(
      Takeover(
        seconds: seconds(end), host: Int(number) ?? 0,
        beats: beats.map { (host: $0[0].flatMap { Int($0) } ?? 0, seconds: seconds($0[1])) }, lateState: lateState))
  }

  /// What the servers and the hosts are at, for who looks into a failure.
  func state() -> String {
    func table(_ sql: String) -> String {
      do {
        let rows = try TestDatabase.rows(sql, url)
        return sql + "\n" + rows.map { $0.map { $0 ?? "-" }.joined(separator: " | ") }.joined(separator: "\n")
      } catch { return "\(sql): \(error)" }
    }
    let tables = [
      """
      SELECT application_name, state, wait_event, pg_blocking_pids(pid)::text, pid, now() - xact_start, left(query, 120)
      FROM pg_stat_activity WHERE datname = '\(Self.database)'
      """,
      "SELECT number, state, ended - started, right(root, 12) FROM bobbin._host ORDER BY number",
      "SELECT *, now() - (SELECT seen FROM bobbin._beat b WHERE b.host = l.host) FROM bobbin._lead l",
      "SELECT * FROM bobbin._run", "SELECT number, kind, host, keys::text, left(body, 100) FROM bobbin._inbox",
      "SELECT * FROM bobbin._outcome",
      "SELECT _key, id, state, attempt, \"dueAt\", now(), host, right(place, 12) FROM bobbin.\"Job\" WHERE state <> 'completed'",
    ]
    let logs = hosts.map { host in
      let files = (try? host.root.currentFiles + host.root.newFiles).map { "\($0)" } ?? "-"
      return "\(host.name) \(host.root.directory.path) \(files)\n\(host.daemon?.logText.suffix(3000) ?? "")"
    }
    return (tables.map(table) + logs).joined(separator: "\n\n")
  }
}
