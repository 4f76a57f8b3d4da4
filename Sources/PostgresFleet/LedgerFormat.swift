import PostgresStore
import SQLGeneration
import StoreInterface

/// A release of the daemon, as far as others on the same ledger have to know it.
///
/// The *format* of a ledger is a number for its tables and for what their rows mean to other hosts. All hosts of a fleet work
/// in the one that `_metadata` tells, those too whose release knows newer ones, until somebody finishes the upgrade.
package struct LedgerRelease: Sendable {
  /// The statements that bring the tables from each format to the next, from the one that ``LedgerTables`` makes.
  ///
  /// Add one with every change of the tables, or of what rows mean to other hosts. Hosts that work in both formats write as
  /// in the old one for a moment longer, so that a migration only adds, and they read both. Raise ``oldest`` when no statement
  /// knows a format any more; what only that one needed is dropped by a later migration.
  private static let migrations: [[String]] = []
  private static let oldest = LedgerTables.format

  /// The version of the release, for people.
  let version: String
  /// The formats in which it works.
  let formats: ClosedRange<Int>
  private let migrations: [[String]]

  package init(_ version: String) { self.init(version, oldest: Self.oldest, migrations: Self.migrations) }

  init(_ version: String, oldest: Int, migrations: [[String]]) {
    self.version = version
    self.migrations = migrations
    formats = oldest...(LedgerTables.format + migrations.count)
  }

  func statements(from old: Int, to new: Int) -> [String] {
    migrations[(old - LedgerTables.format)..<(new - LedgerTables.format)].flatMap(\.self)
  }
}

/// A host as it has told others of its release. Every release can read this, in a ledger of whatever format.
package struct AnnouncedHost: Sendable, Equatable {
  package let root: String
  package let release: String
  let formats: ClosedRange<Int>
  let isAlive: Bool
}

/// The outcome of an upgrade's end: the newest format that all living hosts work in.
package struct UpgradeEnd: Sendable, Equatable {
  /// The format of the ledger before.
  package let old: Int
  package let new: Int
  /// The living hosts that work in no newer one, though others do.
  package let holdingBack: [AnnouncedHost]
  /// The hosts that are away, and are refused from then on unless they come back with a newer release.
  package let shutOut: [AnnouncedHost]

  init(of format: Int, _ hosts: [AnnouncedHost], by release: LedgerRelease) {
    let alive = hosts.filter(\.isAlive)
    let known = alive.map(\.formats.upperBound) + [release.formats.upperBound]
    let newest = max(format, known.min() ?? format)
    (old, new) = (format, newest)
    holdingBack = alive.filter { $0.formats.upperBound == newest && known.contains { $0 > newest } }
    shutOut = newest == format ? [] : hosts.filter { !$0.isAlive && $0.formats.upperBound < newest }
  }

  /// True if nothing is done until hosts are gone or have a newer release.
  package var isRefused: Bool { old == new && !holdingBack.isEmpty }
}

/// The format of the ledger on a connection.
struct LedgerFormat {
  let connection: Connection
  /// The release that this process is of.
  let release: LedgerRelease

  /// The code of a demand that the ledger has a format in which the release works.
  static let unfit = StoreError.Code(rawValue: "unfit-format")
  private static let value = "SELECT value::bigint AS format FROM _metadata WHERE key = 'fleet'"

  /// Demands that the release works in the ledger's format, and keeps that as it is until the end of the transaction.
  static func demand(of release: LedgerRelease) -> Request {
    let fits = LedgerStatements.demand("bool_and(format BETWEEN $1 AND $2)", unfit)
    return Request(
      "WITH held AS (\(value) FOR SHARE) SELECT \(fits) FROM held",
      [.integer(release.formats.lowerBound), .integer(release.formats.upperBound)])
  }

  /// Reads the ledger's format.
  static let reading = Request(value)

  /// True if there is a ledger.
  ///
  /// - Throws: ``StoreError/Code/notAStore`` if there is no store in the schema, ``StoreError/Code/incompatibleModel`` if the
  ///   release does not work in the ledger's format.
  func isPresent() throws(StoreError) -> Bool {
    let store = try connection.pipeline([Request("SELECT to_regclass('_metadata') IS NOT NULL")])[0]
    guard store.integer(0, 0) == 1 else {
      throw StoreError(
        .notAStore, "there is no store yet in which a fleet could keep its ledger", path: connection.place)
    }
    let found = try connection.pipeline([Self.reading])[0]
    if found.rowCount == 0 { return false }
    let format = Int(found.integer(0, 0))
    if !release.formats.contains(format) { throw refusal(in: format, hosts: try hosts().filter(\.isAlive)) }
    return true
  }

  /// The last host of each root, dead or alive.
  private func hosts() throws(StoreError) -> [AnnouncedHost] {
    let found = try connection.pipeline([
      Request(
        """
        SELECT root, release, oldest, newest, state = 'alive' FROM (SELECT DISTINCT ON (root) * FROM _host \
        ORDER BY root, number DESC) AS last ORDER BY number
        """, isKept: false)
    ])[0]
    return (0..<found.rowCount).map { row in
      AnnouncedHost(
        root: found.text(row, 0), release: found.text(row, 1),
        formats: Int(found.integer(row, 2))...Int(found.integer(row, 3)), isAlive: found.integer(row, 4) == 1)
    }
  }

  private func refusal(in format: Int, hosts: [AnnouncedHost]) -> StoreError {
    let known = release.formats
    let range = known.count == 1 ? "\(known.lowerBound)" : "\(known.lowerBound) to \(known.upperBound)"
    func names(_ hosts: [AnnouncedHost]) -> String {
      hosts.map { "\($0.root) (\($0.release))" }.joined(separator: ", ")
    }
    let advice: String
    if format > known.upperBound {
      advice =
        "it is too old for this fleet; install a newer one on this host"
        + (hosts.isEmpty ? "" : ", such as that of \(names(hosts))")
    } else {
      let older = hosts.filter { $0.formats.upperBound < known.lowerBound }
      advice =
        "it is too new for this fleet; first run \"bobbinctl fleet finish-upgrade\" on hosts of a release that works in "
        + "both" + (older.isEmpty ? "" : ", which these are not yet: \(names(older))")
    }
    return StoreError(
      .incompatibleModel,
      "the ledger of the fleet has format \(format), and this release (\(release.version)) works in \(range): \(advice)",
      path: connection.place)
  }

  /// Brings the tables to a newer format.
  func raise(from old: Int, to new: Int) throws(StoreError) {
    for statement in release.statements(from: old, to: new) { try connection.control(statement) }
    try connection.pipeline([Request("UPDATE _metadata SET value = $1 WHERE key = 'fleet'", [.text("\(new)")])])
  }

  /// Brings the tables to the newest format that all living hosts work in; from then on older releases are refused.
  ///
  /// A host that was silent is alive until another one has taken over what it had; it can't write then, and is refused when
  /// it joins again.
  /// - Parameters:
  ///   - isTrial: true to change nothing.
  ///   - limit: the time in milliseconds that a statement waits for a table. Others wait behind it, and must not lose their
  ///     leases by that.
  func finishUpgrade(isTrial: Bool, waitingFor limit: Int = 1_000) throws(StoreError) -> UpgradeEnd {
    try connection.transaction { () throws(StoreError) in
      try connection.control("SET LOCAL lock_timeout = \(limit)")
      // Whoever joins has locked it before, and is seen here, or waits and sees the new format.
      let format = Int(try connection.pipeline([Request("\(Self.value) FOR UPDATE")])[0].integer(0, 0))
      let end = UpgradeEnd(of: format, try hosts(), by: release)
      if !isTrial, end.new > format { try raise(from: format, to: end.new) }
      return end
    }
  }
}
