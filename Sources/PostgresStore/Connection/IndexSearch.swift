/// The settings with which statements search by keys and indexes only.
///
/// For tables that are small when the server counts them, and grow: going through all of one, or through an index of it,
/// looks cheap to the server, which keeps that plan; and it meets all rows that are gone while somebody has an old snapshot
/// open.
package enum IndexSearch {
  /// Those of a connection on which statements are planned once, too: where all name their rows, a plan for any values is as
  /// good as one for those of a statement.
  static let settings = ways("off") + [("plan_cache_mode", "force_generic_plan")]

  /// Has the statements behind it in a transaction search as ``settings`` say.
  package static let begin = request(settings)

  /// Has them go through whole tables where that is quicker, also with plans for any values.
  package static let end = request(ways("on"))

  /// Has them go through no whole table that could be searched, and leaves their plans to the server. Statements that join
  /// with an array of keys have to name it in a condition of their own, or the server may join with a whole index.
  static let preferred = Request("SET LOCAL enable_seqscan = off", isLogged: false)

  /// Leaves it to the server again.
  static let notPreferred = Request("SET LOCAL enable_seqscan TO DEFAULT", isLogged: false)

  private static func ways(_ value: String) -> [(name: String, value: String)] {
    ["enable_seqscan", "enable_hashjoin", "enable_mergejoin"].map { ($0, value) }
  }

  private static func request(_ settings: [(name: String, value: String)]) -> Request {
    Request("SELECT " + settings.map { "set_config('\($0.name)', '\($0.value)', true)" }.joined(separator: ", "))
  }
}
