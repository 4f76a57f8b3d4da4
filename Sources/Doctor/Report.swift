/// The findings of an examination.
package struct Report: Sendable {
  /// The faults.
  package internal(set) var findings: [Finding] = []
  /// Remarks on what is unusual but in order, such as work that the daemon resumes at its next start.
  package internal(set) var notes: [String] = []
  /// The number of jobs that were examined.
  package internal(set) var jobs = 0
  /// The number of files that were examined.
  package internal(set) var files = 0

  mutating func find(_ code: String, _ subject: String, _ problem: String, action: String) {
    findings.append(Finding(code, subject, problem, action: action))
  }
}
