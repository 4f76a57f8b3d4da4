import CLinux
import Glibc

/// A file's status, from `fstat` or from `fstatat` without following a symbolic link.
package struct FileStatus: Hashable, Sendable {
  package enum Kind: Sendable {
    case regular, directory, symbolicLink, fifo, socket, characterDevice, blockDevice, unknown
  }

  package let kind: Kind
  /// Permission bits with setuid, setgid and sticky.
  package let mode: UInt32
  /// Bytes.
  package let size: Int64
  package let linkCount: UInt64
  package let owner: UInt32
  package let group: UInt32
  package let device: UInt64
  package let inode: UInt64
  /// Nanoseconds since 1970.
  package let modificationTime: Int64
  /// When the file was last written, renamed or changed otherwise, in nanoseconds since 1970.
  package let changeTime: Int64

  init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .directory
      case S_IFLNK: .symbolicLink
      case S_IFIFO: .fifo
      case S_IFSOCK: .socket
      case S_IFCHR: .characterDevice
      case S_IFBLK: .blockDevice
      default: .unknown
      }
    mode = status.st_mode & 0o7777
    size = Int64(status.st_size)
    linkCount = UInt64(status.st_nlink)
    owner = status.st_uid
    group = status.st_gid
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    // A corrupt file system can hold any time: wrap instead of trapping.
    modificationTime = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    changeTime = Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
  }
}

extension FileStatus {

  /// True if only the owner of an entry, or of this folder, may remove or replace the entry.
  package var isSticky: Bool { mode & 0o1000 != 0 }

  /// True if others than its owner may write to it; an access control list counts by its mask.
  package var isWritableByOthers: Bool { mode & 0o022 != 0 }

  /// True if both are the same file.
  package func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}
