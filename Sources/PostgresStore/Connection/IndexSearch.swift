/// The settings with which statements search by keys and indexes only, and are planned once.
///
/// For tables that are small when the server counts them, and grow: going through an index of theirs looks cheap to it, and
/// meets all rows that are gone while somebody has an old snapshot open. A plan for any values is as good then as one for
/// those of a statement.
package enum IndexSearch {
  static let settings = ways("off") + [("plan_cache_mode", "force_generic_plan")]

  /// Has the statements behind it in a transaction search so.
  package static let begin = request(settings)

  /// Has them go through whole tables where that is quicker, also with plans for any values.
  package static let end = request(ways("on"))

  /// Has them go through no whole table that could be searched, and leaves their plans to the server: for those of others.
  package static let preferred = Request("SET LOCAL enable_seqscan = off")

  private static func ways(_ value: String) -> [(name: String, value: String)] {
    ["enable_seqscan", "enable_hashjoin", "enable_mergejoin"].map { ($0, value) }
  }

  private static func request(_ settings: [(name: String, value: String)]) -> Request {
    Request("SELECT " + settings.map { "set_config('\($0.name)', '\($0.value)', true)" }.joined(separator: ", "))
  }
}
