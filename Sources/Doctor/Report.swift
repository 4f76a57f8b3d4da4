/// What an examination has found.
package struct Report: Sendable {
  /// What is wrong.
  package internal(set) var findings: [Finding] = []
  /// What is unusual and in order, such as work that the next start of the daemon takes up.
  package internal(set) var notes: [String] = []
  /// How much was looked at.
  package internal(set) var jobs = 0
  package internal(set) var files = 0

  mutating func find(_ code: String, _ subject: String, _ problem: String, action: String) {
    findings.append(Finding(code, subject, problem, action: action))
  }
}
