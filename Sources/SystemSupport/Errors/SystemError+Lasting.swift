import Glibc

extension SystemError {
  /// Whether another attempt would most likely fail in the same way: not so where the system was short of something.
  package var isLasting: Bool { !Self.passing.contains(code.rawValue) }

  /// Whether there was no room on a disk, so that it is nobody's fault and may be otherwise soon.
  package var isFullDisk: Bool { code == .diskFull || code == .quotaExceeded }

  /// Whether the system was short of something: room, memory, processes or descriptors.
  package var isShortage: Bool { Self.shortages.contains(code.rawValue) }

  private static let shortages: Set<Int32> = [ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN]
  private static let passing = shortages.union([EIO, EINTR, ENOLCK, ETIMEDOUT, ESTALE])
}
