import CLinux
import Glibc
import SystemSupport

/// An access control list as the kernel takes it, put together by hand: `setfacl` need not be installed.
struct AccessControlListBytes {
  private(set) var bytes: [UInt8] = [2, 0, 0, 0]

  /// The three entries that every list has, and a mask.
  init(
    owner: UInt8, group: UInt8, other: UInt8, mask: UInt8, users: [UInt32: UInt8] = [:], groups: [UInt32: UInt8] = [:]
  ) {
    add(0x01, owner)
    // The kernel wants the entries ordered by tag and number.
    for (user, bits) in users.sorted(by: { $0.key < $1.key }) { add(0x02, bits, user) }
    add(0x04, group)
    for (group, bits) in groups.sorted(by: { $0.key < $1.key }) { add(0x08, bits, group) }
    add(0x10, mask)
    add(0x20, other)
  }

  private mutating func add(_ tag: UInt8, _ permission: UInt8, _ id: UInt32 = .max) {
    bytes += [tag, 0, permission, 0] + (0..<4).map { UInt8(truncatingIfNeeded: id >> (8 * $0)) }
  }

  /// Gives a file the list.
  func set(on path: String) throws {
    try systemCall("setxattr", path) { setxattr(path, AccessControlList.attributeName, bytes, bytes.count, 0) }
  }
}
