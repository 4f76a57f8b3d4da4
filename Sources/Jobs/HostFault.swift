/// An error that is no fault of a job but of this host, which keeps every job of its type from running: a program that
/// can't be executed, a helper that can't be started.
///
/// The attempt does not count. The type is held, and goes on by itself once that is mended.
package struct HostFault: Error, Sendable, CustomStringConvertible {
  /// The reason, and what to do.
  package let description: String

  package init(_ description: String) { self.description = description }
}
