package import SystemSupport

/// The reason why a server could not be started.
package struct HTTPServiceError: Error {
  /// The cause, open to causes this version doesn't name.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The descriptor is not a listening stream socket of the Unix or Internet family.
    package static let notListening = Self(rawValue: "notListening")
    /// The HTTP library could not start its thread.
    package static let libraryFailed = Self(rawValue: "libraryFailed")
    /// The server was started or stopped before; a stopped server can't be started again.
    package static let usedUp = Self(rawValue: "usedUp")
  }

  package let code: Code
  /// The message and advice, safe to print.
  package let message: String
  /// The system call that failed, if one did.
  package let cause: SystemError?

  init(_ code: Code, message: String, cause: SystemError? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }
}

extension HTTPServiceError: CustomStringConvertible {
  package var description: String {
    cause.map { "\(message): \($0)" } ?? message
  }
}
