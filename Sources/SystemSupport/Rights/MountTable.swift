/// The mounts that this process sees, as the kernel lists them in `/proc/self/mountinfo`; see proc(5).
package struct MountTable: Sendable {
  /// A file system, or a part of one, at a place in the tree of folders.
  package struct Mount: Sendable, Hashable {
    fileprivate let id: Int
    fileprivate let parent: Int
    /// The part of the file system that is seen here: `/` for all of it.
    package let root: String
    /// The place at which it is seen.
    package let point: String
    /// True if nothing can be written through this mount.
    package let isReadOnly: Bool
    /// True if nothing can be written to the file system, through whatever mount.
    package let isFileSystemReadOnly: Bool
    /// Such as `ext4` or `tmpfs`.
    package let fileSystem: String
  }

  private let mounts: [Mount]

  /// Reads the kernel's list; lines of an unknown form are passed over.
  package init(parsing text: String) {
    mounts = text.split(separator: "\n").compactMap { Mount(line: $0) }
  }

  /// The mounts of this process's own namespace, at this moment.
  package static func ofThisProcess() throws(SystemError) -> MountTable {
    let file = try FileDescriptor.open("/proc/self/mountinfo")
    return MountTable(parsing: String(decoding: try file.readAll(limit: 16 << 20), as: UTF8.self))
  }

  /// The mount in which an absolute path without links and dots lies; nil if the list has no root.
  package func mount(of path: String) -> Mount? {
    let ids = Set(mounts.map(\.id))
    guard var found = mounts.first(where: { $0.point == "/" && !ids.contains($0.parent) }) else { return nil }
    // Down from the root, mount by mount: one may lie upon another, and hide what is mounted below that.
    while let next = mounts.filter({ $0.parent == found.id && $0.id != found.id && $0.contains(path) })
      .min(by: { $0.point.utf8.count < $1.point.utf8.count })
    {
      found = next
    }
    return found
  }
}

extension MountTable.Mount {
  /// - Parameter line: such as `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`.
  fileprivate init?(line: Substring) {
    let fields = line.split(separator: " ")
    // Before the hyphen there are any number of optional fields.
    guard fields.count >= 10, let id = Int(fields[0]), let parent = Int(fields[1]),
      let hyphen = fields[6...].firstIndex(of: "-"), hyphen + 3 < fields.count
    else { return nil }
    (self.id, self.parent) = (id, parent)
    (root, point) = (Self.unescaped(fields[3]), Self.unescaped(fields[4]))
    isReadOnly = fields[5].split(separator: ",").contains("ro")
    fileSystem = String(fields[hyphen + 1])
    isFileSystemReadOnly = fields[hyphen + 3].split(separator: ",").contains("ro")
  }

  /// True if a path is the mount's point, or lies below it.
  fileprivate func contains(_ path: String) -> Bool {
    point == "/" || path == point || path.hasPrefix(point + "/")
  }

  /// Blanks, line ends and backslashes are written as three octal digits.
  private static func unescaped(_ field: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(field.utf8)[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      if byte == UInt8(ascii: "\\"), digits.count == 3,
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
      {
        bytes.append(value)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
