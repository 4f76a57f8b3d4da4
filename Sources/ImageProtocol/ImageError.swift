/// The reason why a picture could not be encoded, in words for people, and whether trying again is of use.
package struct ImageError: Error, Codable, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure; open, so that a newer helper may name one this daemon doesn't know.
  package struct Code: RawRepresentable, Codable, Sendable, Hashable {
    package var rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The request itself makes no sense.
    package static let invalidRequest = Code(rawValue: "invalidRequest")
    /// Daemon and helper don't understand each other.
    package static let protocolMismatch = Code(rawValue: "protocolMismatch")
    /// The input is empty, no regular file, or of no known format.
    package static let notAPicture = Code(rawValue: "notAPicture")
    /// The input's format is known but not in the request's allow list.
    package static let formatNotAllowed = Code(rawValue: "formatNotAllowed")
    /// The input or an output exceeds a limit of the request or of a format.
    package static let tooLarge = Code(rawValue: "tooLarge")
    /// The input is truncated, damaged, or of a kind that its decoder does not know.
    package static let damaged = Code(rawValue: "damaged")
    /// The input was written to while it was read.
    package static let inputChanged = Code(rawValue: "inputChanged")
    /// The picture needs more memory than the helper may have.
    package static let outOfMemory = Code(rawValue: "outOfMemory")
    /// The input is whole as far as is known, but an encoder or a step before it fails.
    package static let encoding = Code(rawValue: "encoding")
    /// An output can't be written.
    package static let output = Code(rawValue: "output")
    /// The helper can't be started, whatever the picture.
    package static let helperNotStarted = Code(rawValue: "helperNotStarted")
    /// The helper can't be prepared, or its socket fails.
    package static let helperUnavailable = Code(rawValue: "helperUnavailable")
    /// The helper ended in the middle of the job.
    package static let helperDied = Code(rawValue: "helperDied")
    /// The job took longer than it may.
    package static let timedOut = Code(rawValue: "timedOut")
    /// The calling task was cancelled.
    package static let cancelled = Code(rawValue: "cancelled")
    /// The pool is shut down.
    package static let shutDown = Code(rawValue: "shutDown")
  }

  package var code: Code
  /// The error and the remedy, without a full stop and without the file's name, which only the caller knows.
  package var message: String
  /// True if the same request on the same input will fail again.
  package var permanent: Bool

  package init(_ code: Code, _ message: String, permanent: Bool) {
    self.code = code
    self.message = message
    self.permanent = permanent
  }

  package var description: String { message }

  package static func invalidRequest(_ message: String) -> ImageError {
    ImageError(.invalidRequest, message, permanent: true)
  }

  package static func protocolMismatch(_ message: String) -> ImageError {
    ImageError(.protocolMismatch, message, permanent: false)
  }
}
