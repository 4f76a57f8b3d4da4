import Fleet
import PostgresStore

/// Statements of what is known of hosts: who they are, and what they offer.
extension LedgerStatements {
  /// Enters a host; answers its number, and the time.
  static func enter(_ host: FleetHost, of release: LedgerRelease) -> Request {
    Request(
      """
      WITH new AS (INSERT INTO _host (root, slots, types, places, release, oldest, newest) \
      VALUES ($1, $2, $3, $4, $6, $7, $8) RETURNING number), \
      beat AS (INSERT INTO _beat (host, seen) SELECT number, now() FROM new), \
      slots AS (INSERT INTO _session (host, slot, number) SELECT number, s, 0 FROM new, generate_series($5, 2) AS s), \
      news AS (INSERT INTO _inbox (kind, host) SELECT 'joined', number FROM new) \
      SELECT number, \(time) FROM new
      """,
      [
        .text(host.root), .integer(host.slots), .texts(host.types.sorted()), .texts(host.places.sorted()),
        .integer(firstStoreSlot), .text(release.version), .integer(release.formats.lowerBound),
        .integer(release.formats.upperBound),
      ])
  }

  /// Drops what is known of hosts that have long been gone; the last one of a root stays until people remove it.
  static let dropOldHosts = Request(
    """
    DELETE FROM _host AS h WHERE ended < now() - interval '7 days' \
    AND EXISTS (SELECT 1 FROM _host AS n WHERE n.root = h.root AND n.number > h.number)
    """)

  /// The hosts that are alive, with what they offer.
  static let livingHosts = Request(
    """
    SELECT number, root, slots, \(offeredTypes(of: "_host")), to_json(places)::text FROM _host \
    WHERE state = 'alive'
    """)

  /// The last host of each root, dead or alive.
  static let knownHosts = Request(
    """
    SELECT * FROM (SELECT DISTINCT ON (h.root) h.number, h.root, h.slots, to_json(h.types)::text, \
    to_json(h.places)::text, b.host IS NOT NULL, \
    EXISTS (SELECT 1 FROM _pause AS p WHERE p.kind = 'host' AND p.name = h.root), \
    \(silence("s")), (SELECT count(*) FROM _run AS r WHERE r.host = h.number), h.release, h.oldest, h.newest \
    FROM _host AS h LEFT JOIN _beat AS b ON b.host = h.number, \
    LATERAL (SELECT coalesce(b.seen, h.ended, h.started) AS seen) AS s \
    ORDER BY h.root, h.number DESC) AS last ORDER BY number
    """)

  /// The roots of the hosts that were heard of within a time in milliseconds, but for one.
  static func hosts(besides root: String, heardFor time: Int64) -> Request {
    Request(
      """
      SELECT h.root FROM _host AS h JOIN _beat AS b ON b.host = h.number WHERE h.state = 'alive' AND h.root <> $1 \
      AND b.seen > now() - $2::bigint * interval '1 millisecond' ORDER BY h.number
      """, [.text(root), .integer(time)])
  }

  /// The number of hosts that count as alive under a root.
  static func livingHosts(under root: String) -> Request {
    Request("SELECT count(*) FROM _host WHERE root = $1 AND state = 'alive'", [.text(root)])
  }

  /// The types of which a host is given jobs, as an array in JSON.
  static func offeredTypes(of table: String) -> String {
    "to_json(ARRAY(SELECT unnest(\(table).types) EXCEPT SELECT unnest(\(table).withheld)))::text"
  }

  /// Sets the types that a host handles and those that it withholds; a host that joins once more is a changed one.
  static func setTypes(_ types: Set<String>, withheld: Set<String>, of host: Int) -> Request {
    Request(
      """
      WITH changed AS (UPDATE _host SET types = $2, withheld = $3 WHERE number = $1 AND state = 'alive' \
      RETURNING number) INSERT INTO _inbox (kind, host) SELECT 'joined', number FROM changed
      """, [.integer(host), .texts(types.sorted()), .texts(withheld.sorted())])
  }
}
