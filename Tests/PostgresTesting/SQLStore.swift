/// The stores that are SQL databases, on each of which whole suites run; fixtures ask for ``current``.
package enum SQLStore: String, Sendable {
  case sqlite, postgres

  /// The store of the test at hand.
  @TaskLocal package static var current = SQLStore.sqlite

  /// The stores that can be had here.
  package static let available: [SQLStore] = [.sqlite] + (PostgresCluster.isAvailable() ? [.postgres] : [])
}
