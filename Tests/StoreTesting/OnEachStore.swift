import PostgresTesting
package import Testing

/// Runs each test of a suite once for each SQL store that can be had here.
package struct OnEachStore: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    for store in SQLStore.available {
      try await SQLStore.$current.withValue(store) {
        let naming = IssueHandlingTrait.compactMapIssues { issue in
          var issue = issue
          issue.comments.append("on \(store.rawValue)")
          return issue
        }
        try await naming.provideScope(for: test, testCase: testCase, performing: body)
      }
    }
  }
}

/// Leaves a test of such a suite to one store.
package struct OnlyOnStore: TestTrait, TestScoping {
  private let store: SQLStore

  fileprivate init(_ store: SQLStore) { self.store = store }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    if SQLStore.current == store { try await body() }
  }
}

extension Trait where Self == OnEachStore {
  /// Once for each SQL store.
  package static var onEachStore: Self { Self() }
}

extension Trait where Self == OnlyOnStore {
  /// On SQLite only, for a reason that holds for no other store.
  package static func onlyOnSQLite(_ reason: String) -> Self { Self(.sqlite) }
}
