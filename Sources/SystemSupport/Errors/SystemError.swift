import CLinux
import Glibc

/// A system call that failed: which call, on what, why, and what the operator can do.
///
/// `description` reads like `open "/var/spool/x": No such file or directory (ENOENT)` and is safe to print:
/// the subject's control characters and invalid UTF-8 are escaped.
package struct SystemError: Error, Equatable {
  /// An errno number, open to values this package doesn't name.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
      self.rawValue = rawValue
    }
  }

  package let code: Code
  package let call: String
  /// The path, name or number the call was about, unescaped; nil when the call says it all.
  package let subject: String?
  /// Advice to the operator, one sentence without a full stop.
  package let hint: String?

  package init(_ code: Code, call: String, subject: String? = nil, hint: String? = nil) {
    self.code = code
    self.call = call
    self.subject = subject
    self.hint = hint
  }

  /// The same error with another subject.
  func about(_ subject: String) -> SystemError {
    SystemError(code, call: call, subject: subject, hint: hint)
  }

  /// The same error with advice for the operator.
  package func hinting(_ hint: String) -> SystemError {
    SystemError(code, call: call, subject: subject, hint: hint)
  }
}

extension SystemError: CustomStringConvertible {
  package var description: String {
    var text = call
    if let subject { text += " \"\(displayName(subject))\"" }
    text += ": \(code)"
    if let hint { text += "; \(hint)" }
    return text
  }
}

extension SystemError.Code: CustomStringConvertible {
  /// The errno's symbol, such as `ENOENT`, or its number.
  package var symbol: String {
    strerrorname_np(rawValue).map { String(cString: $0) } ?? "errno \(rawValue)"
  }

  package var description: String {
    // strerror() shares a buffer between threads; this one returns constant text.
    let meaning = strerrordesc_np(rawValue).map { String(cString: $0) } ?? "Unknown error"
    return "\(meaning) (\(symbol))"
  }
}

extension SystemError.Code {
  package static let accessDenied = Self(rawValue: EACCES)
  package static let addressInUse = Self(rawValue: EADDRINUSE)
  package static let argumentsTooLong = Self(rawValue: E2BIG)
  package static let badMessage = Self(rawValue: EBADMSG)
  package static let brokenPipe = Self(rawValue: EPIPE)
  package static let connectionRefused = Self(rawValue: ECONNREFUSED)
  package static let connectionReset = Self(rawValue: ECONNRESET)
  package static let diskFull = Self(rawValue: ENOSPC)
  package static let exists = Self(rawValue: EEXIST)
  package static let fileTooLarge = Self(rawValue: EFBIG)
  package static let invalidArgument = Self(rawValue: EINVAL)
  package static let isDirectory = Self(rawValue: EISDIR)
  package static let notSupported = Self(rawValue: EOPNOTSUPP)
  package static let messageTooLong = Self(rawValue: EMSGSIZE)
  package static let nameTooLong = Self(rawValue: ENAMETOOLONG)
  package static let noEntry = Self(rawValue: ENOENT)
  package static let noProcess = Self(rawValue: ESRCH)
  package static let notDirectory = Self(rawValue: ENOTDIR)
  package static let notPermitted = Self(rawValue: EPERM)
  package static let quotaExceeded = Self(rawValue: EDQUOT)
  package static let readOnlyFileSystem = Self(rawValue: EROFS)
  package static let symbolicLink = Self(rawValue: ELOOP)
  package static let timedOut = Self(rawValue: ETIMEDOUT)
  package static let wouldBlock = Self(rawValue: EAGAIN)
}

extension SystemError {
  /// True if another attempt would most likely fail in the same way; false where the system was short of something.
  package var isLasting: Bool { !Self.passing.contains(code.rawValue) }

  /// True if a disk was full, which is no fault of the caller and may change soon.
  package var isFullDisk: Bool { code == .diskFull || code == .quotaExceeded }

  /// True if the system was short of disk space, memory, processes or descriptors.
  package var isShortage: Bool { Self.shortages.contains(code.rawValue) }

  private static let shortages: Set<Int32> = [ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN]
  private static let passing = shortages.union([EIO, EINTR, ENOLCK, ETIMEDOUT, ESTALE])
}

/// Runs a system call, again when a signal interrupted it, and throws what errno said when it returned a negative number.
///
/// This is the only way this package calls the kernel: errno is read before anything else can change it.
/// Don't use it for `close`, which must not be repeated on Linux.
///
/// - Parameters:
///   - call: The call's name, for the error.
///   - subject: What it is about, built only when it fails.
///   - body: The call itself.
@discardableResult
package func systemCall<Result: SignedInteger>(
  _ call: String, _ subject: @autoclosure () -> String? = nil, body: () -> Result
) throws(SystemError) -> Result {
  while true {
    let result = body()
    if result >= 0 { return result }
    let code = errno
    if code != EINTR { throw SystemError(.init(rawValue: code), call: call, subject: subject()) }
  }
}
