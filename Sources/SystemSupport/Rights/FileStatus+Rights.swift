extension FileStatus {
  /// True if the permission bits grant all of `wanted` to a user, where there is no access control list.
  package func allows(_ user: UserIdentity, _ wanted: Permission) -> Bool {
    let shift: UInt32 = user.user == owner ? 6 : user.groups.contains(group) ? 3 : 0
    return Permission(rawValue: mode >> shift & 7).contains(wanted)
  }

  /// True if only the owner of an entry, or of this folder, may remove or replace the entry.
  package var isSticky: Bool { mode & 0o1000 != 0 }

  /// True if others than its owner may write to it; an access control list counts by its mask.
  package var isWritableByOthers: Bool { mode & 0o022 != 0 }

  /// True if both are the same file.
  package func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}
