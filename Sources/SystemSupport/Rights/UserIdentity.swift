import CLinux
import Glibc

/// A user and their groups from the user database, whose rights are checked when this process acts for them.
package struct UserIdentity: Sendable, Hashable {
  package let user: UInt32
  /// The login name; nil if the user database doesn't know the number.
  package let name: String?
  package let primaryGroup: UInt32?
  /// The primary group and all others.
  package let groups: Set<UInt32>

  package init(user: UInt32, name: String? = nil, primaryGroup: UInt32? = nil, groups: Set<UInt32> = []) {
    self.user = user
    self.name = name
    self.primaryGroup = primaryGroup
    self.groups = groups
  }

  /// Asks the user database; a user whom it doesn't know is in no group.
  ///
  /// Costs a look into `/etc/passwd` and `/etc/group`, or a request to a directory service.
  package init(lookingUp user: UInt32) throws(SystemError) {
    guard let entry = try UserDatabase.user(user) else {
      self.init(user: user)
      return
    }
    let groups = Set(Self.groups(ofName: entry.name, primary: entry.group))
    self.init(user: user, name: entry.name, primaryGroup: entry.group, groups: groups)
  }

  /// The user as whom this process runs.
  package static func ofThisProcess() throws(SystemError) -> UserIdentity {
    try UserIdentity(lookingUp: Credentials.effectiveUser)
  }

  /// True if the rights must be checked here. Root may do everything, and the kernel checks this process's own user.
  package var needsChecks: Bool { user != 0 && user != Credentials.effectiveUser }

  /// True if the user is the only member of a group: one that was created along with the user and has its name.
  ///
  /// Costs a look into `/etc/group`, or a request to a directory service.
  package func isAlone(inGroup group: UInt32) throws(SystemError) -> Bool {
    guard let entry = try UserDatabase.group(group) else { return name == nil && group == user }
    return entry.name == name && entry.members.allSatisfy { $0 == name || $0 == "root" }
  }

  fileprivate static func groups(ofName name: String, primary: UInt32) -> [UInt32] {
    var capacity: Int32 = 64
    while true {
      var groups = [gid_t](repeating: 0, count: Int(capacity))
      var count = capacity
      if getgrouplist(name, primary, &groups, &count) >= 0 { return Array(groups.prefix(Int(count))) }
      // Linux allows 65,536 groups; a library that reports no count must not keep us here.
      if capacity > 65_536 { return [primary] }
      capacity = max(count, capacity * 2)
    }
  }
}

extension UserIdentity: CustomStringConvertible {
  /// The login name with the number, or the number alone.
  package var description: String {
    name.map { "\(displayName($0)) (\(user))" } ?? "user \(user)"
  }
}

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
    guard let entry = try UserDatabase.user(named: name) else { return nil }
    return UserAccount(
      name: name, user: entry.user, group: entry.group,
      groups: UserIdentity.groups(ofName: name, primary: entry.group), home: entry.home)
  }

}

/// The user, group and ID of this process.
package enum Credentials {
  package static var effectiveUser: UInt32 { geteuid() }
  package static var effectiveGroup: UInt32 { getegid() }
  package static var processID: Int32 { getpid() }
}
