import Glibc

extension SystemError {
  /// Whether another attempt would most likely fail in the same way: not so where the system was short of something.
  package var isLasting: Bool { !Self.passing.contains(code.rawValue) }

  private static let passing: Set<Int32> = [
    ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN, EINTR, ENOLCK, ETIMEDOUT, ESTALE,
  ]
}
