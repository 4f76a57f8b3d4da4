import Glibc

extension SystemError {
  /// True if another attempt would most likely fail in the same way; false where the system was short of something.
  package var isLasting: Bool { !Self.passing.contains(code.rawValue) }

  /// True if a disk was full, which is nobody's fault and may be over soon.
  package var isFullDisk: Bool { code == .diskFull || code == .quotaExceeded }

  /// True if the system was short of disk space, memory, processes or descriptors.
  package var isShortage: Bool { Self.shortages.contains(code.rawValue) }

  private static let shortages: Set<Int32> = [ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN]
  private static let passing = shortages.union([EIO, EINTR, ENOLCK, ETIMEDOUT, ESTALE])
}
