/// A fault: what is wrong, where, and what to do about it.
package struct Finding: Sendable, Hashable {
  /// Names the kind; the same from release to release.
  package let code: String
  /// The file, folder or job.
  package let subject: String
  package let problem: String
  package let action: String

  package init(_ code: String, _ subject: String, _ problem: String, action: String) {
    self.code = code
    self.subject = subject
    self.problem = problem
    self.action = action
  }
}
