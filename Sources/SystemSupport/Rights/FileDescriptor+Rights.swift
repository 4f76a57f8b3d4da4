import CLinux
import Glibc

extension FileDescriptor {
  /// True if the file grants all of `wanted` to a user, by its access control list or its permission bits.
  ///
  /// Other grounds of refusal are not known here: the rights of a network file system's server, NFSv4 lists, security
  /// modules.
  package func allows(_ user: UserIdentity, _ wanted: Permission, _ status: FileStatus) throws(SystemError) -> Bool {
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

  /// The value of an extended attribute, or nil if there is none of this name or the file system has none at all.
  package func extendedAttribute(_ name: String) throws(SystemError) -> [UInt8]? {
    // fgetxattr refuses descriptors that are open as a path only.
    let path = procPath
    // The kernel allows 64 KiB for a value; almost all are short.
    for capacity in [256, 64 << 10] {
      var value = [UInt8](repeating: 0, count: capacity)
      do throws(SystemError) {
        let count = try systemCall("getxattr", name) { getxattr(path, name, &value, capacity) }
        return Array(value.prefix(count))
      } catch {
        switch error.code.rawValue {
        case ENODATA, ENOTSUP: return nil
        case ERANGE where capacity == 256: continue
        default: throw error
        }
      }
    }
    return nil
  }

  /// Sets an extended attribute; returns false if the file system keeps none.
  package func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(SystemError) -> Bool {
    do throws(SystemError) {
      try systemCall("fsetxattr", name) { fsetxattr(number, name, value, value.count, 0) }
      return true
    } catch {
      if error.code.rawValue == ENOTSUP { return false }
      throw error
    }
  }

  /// Gives the file to another user; needs the rights of root.
  package func setOwner(_ user: UInt32, group: UInt32?) throws(SystemError) {
    try systemCall("fchown", subject) { fchown(number, user, group ?? .max) }
  }

  /// Sets the file's permission bits, whatever the umask.
  package func setMode(_ mode: UInt32) throws(SystemError) {
    try systemCall("fchmod", subject) { fchmod(number, mode) }
  }

  /// A path that leads to this very file, whatever its names are now.
  var procPath: String { "/proc/self/fd/\(number)" }
}
