import SQLGeneration
import PostgresStore

/// The types of jobs that hosts offer to their fleet.
extension LedgerStatements {
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
