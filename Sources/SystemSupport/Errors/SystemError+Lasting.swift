import Glibc

extension SystemError {
  /// Whether another attempt would most likely fail in the same way: not so where the system was short of something.
  package var isLasting: Bool { !Self.passing.contains(code.rawValue) }

  /// Whether there was no room on a disk, so that it is nobody's fault and may be otherwise soon.
  package var isFullDisk: Bool { code == .diskFull || code == .quotaExceeded }

  private static let passing: Set<Int32> = [
    ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN, EINTR, ENOLCK, ETIMEDOUT, ESTALE,
  ]
}
