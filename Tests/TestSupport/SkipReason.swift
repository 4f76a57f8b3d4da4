import SystemSupport

/// Why a test can't run here; printed, so that a green run doesn't hide what it left out.
package struct SkipReason: Sendable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  package static let needsRoot = SkipReason("needs root")

  /// For `.enabled(if:)`: whether the tests run as root; says so when they don't.
  package static func runsAsRoot(_ test: String = #fileID) -> Bool {
    needsRoot.unless(Credentials.effectiveUser == 0, test)
  }

  /// For `.enabled(if:)`: passes `condition` on, and prints the reason when it is false.
  package func unless(_ condition: Bool, _ test: String = #fileID) -> Bool {
    if !condition { print("skipped: \(test): \(self)") }
    return condition
  }
}
