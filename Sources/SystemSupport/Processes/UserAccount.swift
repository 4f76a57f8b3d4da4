import CLinux
import Glibc

/// A user of this machine that a process can become.
package struct UserAccount: Hashable, Sendable {
  package let name: String
  package let user: UInt32
  package let group: UInt32
  /// All groups, the first one among them.
  package let groups: [UInt32]
  package let home: String

  /// Looks a user up by name.
  ///
  /// May ask a directory service, which can take a while.
  /// - Returns: Nil if there is no such user.
  package static func find(_ name: String) throws(SystemError) -> UserAccount? {
    var record = passwd()
    var buffer = [CChar](repeating: 0, count: 4096)
    while true {
      var found: UnsafeMutablePointer<passwd>?
      let code = getpwnam_r(name, &record, &buffer, buffer.count, &found)
      if code == ERANGE {
        buffer = [CChar](repeating: 0, count: buffer.count * 2)
        continue
      }
      if code == EINTR { continue }
      // Sources differ in what they return for an unknown name; see getpwnam(3).
      if code == 0 && found == nil || [ENOENT, ESRCH].contains(code) { return nil }
      if code != 0 { throw SystemError(.init(rawValue: code), call: "getpwnam", subject: name) }
      // The record's texts lie in the buffer.
      return withExtendedLifetime(buffer) {
        UserAccount(
          name: name, user: record.pw_uid, group: record.pw_gid, groups: groups(of: name, record.pw_gid),
          home: record.pw_dir.map { String(cString: $0) } ?? "/")
      }
    }
  }

  private static func groups(of name: String, _ group: UInt32) -> [UInt32] {
    var groups = [gid_t](repeating: 0, count: 64)
    while true {
      var count = Int32(groups.count)
      if getgrouplist(name, group, &groups, &count) >= 0 { return Array(groups.prefix(Int(count))) }
      groups = [gid_t](repeating: 0, count: max(groups.count * 2, Int(count)))
    }
  }
}
