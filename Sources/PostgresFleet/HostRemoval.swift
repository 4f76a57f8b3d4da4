import Fleet
import JobSchedule
import PostgresStore
import SQLGeneration
package import StoreInterface

/// The outcome of the removal of a host from a fleet.
package enum HostRemoval: Sendable, Equatable {
  /// The fate of unfinished jobs that only the removed host could run.
  package enum Fate: String, Sendable, CaseIterable {
    /// Any host runs them, which has to see the same files under their paths.
    case move
    case cancel
  }

  /// It is removed, and with so many jobs it was done as ordered.
  case removed(jobs: Int)
  /// It is alive: it would come back.
  case isAlive
  /// So many jobs can run nowhere else, and nobody has said what is to be done with them.
  case hasJobs(Int)
  case unknown
}

extension PostgresLedger {
  /// Removes a host that is dead from what is known of the fleet: the lead, which learns of it by news, loads the ledger anew.
  ///
  /// - Parameter fate: the fate of the unfinished jobs that only it can run; nil to refuse if there are any.
  package func remove(_ root: String, jobs fate: HostRemoval.Fate?) throws(StoreError) -> HostRemoval {
    try apart { (transaction) throws(StoreError) in
      try Self.remove(root, jobs: fate, on: transaction.connection)
    }
  }

  private static func remove(
    _ root: String, jobs fate: HostRemoval.Fate?, on connection: Connection
  ) throws(StoreError) -> HostRemoval {
    try connection.transaction { () throws(StoreError) in
      let found = try connection.pipeline([LedgerStatements.hosts(under: root), JobRows.countBound(to: root)])
      if found[0].rowCount == 0 { return .unknown }
      if (0..<found[0].rowCount).contains(where: { found[0].text($0, 0) == "alive" }) { return .isAlive }
      let count = Int(found[1].integer(0, 0))
      if count > 0 && fate == nil { return .hasJobs(count) }
      // Its spool is not told of ends any more.
      var changes = [JobRows.leaveSpool(root)]
      if let fate { changes = JobRows.unbind(from: root, cancelling: fate == .cancel) + changes }
      try connection.pipeline(changes + LedgerStatements.forgetHost(root))
      return .removed(jobs: count)
    }
  }
}

extension LedgerStatements {
  /// Locks the hosts of a root, and answers their states.
  fileprivate static func hosts(under root: String) -> Request {
    Request("SELECT state FROM _host WHERE root = $1 FOR UPDATE", [.text(root)])
  }

  /// Has the lead load everything anew.
  static let tellOfChange = Request("INSERT INTO _inbox (kind) VALUES ('\(NewsText.Kind.changed.rawValue)')")

  fileprivate static func forgetHost(_ root: String) -> [Request] {
    [
      Request("DELETE FROM _outcome WHERE spool = $1", [.text(root)]),
      pause(Resource.Name.host(root).record, false),
      // One that joins meanwhile stays.
      Request("DELETE FROM _host WHERE root = $1 AND state <> 'alive'", [.text(root)]),
      tellOfChange,
    ]
  }
}
