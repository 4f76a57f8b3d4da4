import PostgresTesting
import Testing

/// Runs each test of a suite once for each SQL store that can be had here.
struct OnEachStore: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
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

extension Trait where Self == OnEachStore {
  /// Once for each SQL store.
  static var onEachStore: Self { Self() }
}
