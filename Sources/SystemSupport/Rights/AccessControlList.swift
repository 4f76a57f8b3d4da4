/// A file's POSIX access control list.
///
/// The kernel gives it as the extended attribute `system.posix_acl_access`, in the format of `linux/posix_acl_xattr.h`:
/// a version, 2, of 32 bits, then per entry a tag and permission bits of 16 bits each, and a user or group of 32 bits,
/// all in little-endian order. The rules for checking it are in acl(5), from POSIX 1003.1e draft 17.
package struct AccessControlList: Sendable {
  /// The attribute that holds it.
  package static let attributeName = "system.posix_acl_access"

  /// The attribute of a folder with the rights of files created in it, which replaces the umask.
  package static let defaultAttributeName = "system.posix_acl_default"

  /// The attribute's bytes for a list that is equivalent to a mode.
  package static func bytes(ofMode mode: UInt32) -> [UInt8] {
    let entries: [(Tag, UInt32)] = [(.owner, mode >> 6), (.owningGroup, mode >> 3), (.other, mode)]
    // The numbers of users and groups mean nothing here.
    return [2, 0, 0, 0]
      + entries.flatMap { tag, bits in [UInt8(tag.rawValue), 0, UInt8(bits & 7), 0, 255, 255, 255, 255] }
  }

  private enum Tag: UInt16 {
    case owner = 0x01
    case user = 0x02
    case owningGroup = 0x04
    case group = 0x08
    case mask = 0x10
    case other = 0x20
  }

  private struct Entry {
    let tag: Tag
    let permission: Permission
    let id: UInt32
  }

  private let entries: [Entry]

  /// Reads the attribute's bytes.
  ///
  /// - Throws: ``SystemError/Code/badMessage`` if they are not in this format; access should then be denied.
  package init(parsing bytes: [UInt8]) throws(SystemError) {
    func number(_ offset: Int, _ size: Int) -> UInt32 {
      bytes[offset..<offset + size].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
    guard bytes.count >= 4, (bytes.count - 4) % 8 == 0, number(0, 4) == 2 else { throw Self.unknownFormat }
    var entries: [Entry] = []
    for offset in stride(from: 4, to: bytes.count, by: 8) {
      guard let tag = Tag(rawValue: UInt16(number(offset, 2))) else { throw Self.unknownFormat }
      entries.append(
        Entry(tag: tag, permission: Permission(rawValue: number(offset + 2, 2)), id: number(offset + 4, 4)))
    }
    self.entries = entries
  }

  private static let unknownFormat = SystemError(
    .badMessage, call: "getxattr", subject: attributeName, hint: "the access control list has an unknown format")

  /// True if the list grants all of `wanted` to a user, for a file of that owner and group.
  package func allows(_ user: UserIdentity, _ wanted: Permission, owner: UInt32, group: UInt32) -> Bool {
    if user.user == owner { return first(.owner)?.permission.contains(wanted) ?? false }
    let mask = first(.mask)?.permission ?? Permission(rawValue: 7)
    if let named = entries.first(where: { $0.tag == .user && $0.id == user.user }) {
      return named.permission.intersection(mask).contains(wanted)
    }
    let matching = entries.filter { entry in
      entry.tag == .owningGroup && user.groups.contains(group) || entry.tag == .group && user.groups.contains(entry.id)
    }
    // One of them must grant everything; a member never falls back to the rights of others.
    if !matching.isEmpty { return matching.contains { $0.permission.intersection(mask).contains(wanted) } }
    return first(.other)?.permission.contains(wanted) ?? false
  }

  private func first(_ tag: Tag) -> Entry? { entries.first { $0.tag == tag } }
}

/// The rights to a file or folder, with the bits that a mode and an access control list use.
package struct Permission: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let read = Permission(rawValue: 4)
  package static let write = Permission(rawValue: 2)
  /// To look names up in a folder: the bit that means "execute" for a file.
  package static let search = Permission(rawValue: 1)

  /// The letters that `chmod` and `setfacl` take.
  package var letters: String {
    [(Permission.read, "r"), (.write, "w"), (.search, "x")].filter { contains($0.0) }.map(\.1).joined()
  }
}

extension FileDescriptor {
  /// True if the file grants all of `wanted` to a user, by its access control list or its permission bits.
  ///
  /// Other grounds of refusal are not known here: the rights of a network file system's server, NFSv4 lists, security
  /// modules.
  package func allows(_ user: UserIdentity, _ wanted: Permission, status: FileStatus) throws(SystemError) -> Bool {
    // The owner's entry in a list is always the same as the mode's bits.
    if user.user == status.owner { return status.allows(user, wanted) }
    guard let list = try accessControlList() else { return status.allows(user, wanted) }
    return list.allows(user, wanted, owner: status.owner, group: status.group)
  }

  /// The file's access control list, or nil if it has none beyond its mode.
  package func accessControlList() throws(SystemError) -> AccessControlList? {
    try extendedAttribute(AccessControlList.attributeName).map { (bytes) throws(SystemError) in
      try AccessControlList(parsing: bytes)
    }
  }
}

extension FileStatus {
  /// True if the permission bits grant all of `wanted` to a user, where there is no access control list.
  package func allows(_ user: UserIdentity, _ wanted: Permission) -> Bool {
    let shift: UInt32 = user.user == owner ? 6 : user.groups.contains(group) ? 3 : 0
    return Permission(rawValue: mode >> shift & 7).contains(wanted)
  }
}

extension Directory {
  /// Limits the permission bits of files that are created here, whatever the umask of their creators.
  ///
  /// A default that is there already stays. Does nothing where the file system keeps no access control lists.
  package func limitModes(ofNewFiles mode: UInt32) throws(SystemError) {
    let name = AccessControlList.defaultAttributeName
    if try descriptor.extendedAttribute(name) != nil { return }
    _ = try descriptor.setExtendedAttribute(name, to: AccessControlList.bytes(ofMode: mode))
  }

  /// True if it has an access control list beyond its mode.
  package func hasAccessControlList() throws(SystemError) -> Bool { try descriptor.accessControlList() != nil }
}
