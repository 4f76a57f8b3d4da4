/// An error that is no fault of a job but of this host, which keeps every job of its type from running: a program that
/// can't be executed, a helper that can't be started, a service that is down.
///
/// The attempt does not count. The type is held, and goes on by itself once that is mended.
package struct HostFault: Error, Sendable, CustomStringConvertible {
  /// The reason, and what to do.
  package let description: String

  /// The path of what may mend it by coming there: the type is tried again then.
  package let awaited: String?

  /// False if it may be the job's own after all: it is, if one job meets it time after time.
  package let isCertain: Bool

  package init(_ description: String, awaits awaited: String? = nil, isCertain: Bool = true) {
    self.description = description
    self.awaited = awaited
    self.isCertain = isCertain
  }
}
