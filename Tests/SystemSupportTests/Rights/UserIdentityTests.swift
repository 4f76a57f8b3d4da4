import Foundation
import SystemSupport
import TestSupport
import Testing

@Suite("The identity of a user")
struct UserIdentityTests {
  @Test("The user database gives name and groups, as id(1) shows them")
  func known() async throws {
    let user = UserIdentity(user: Credentials.effectiveUser).user
    let identity = try UserIdentity(lookingUp: user)
    let groups = try await Tool.run("/usr/bin/id", ["-G", identity.name ?? ""])
    #expect(identity.groups == Set(groups.output.split(whereSeparator: \.isWhitespace).compactMap { UInt32($0) }))
    #expect(identity.description == "\(identity.name ?? "?") (\(user))")
  }

  @Test("A user whom nobody knows is in no group")
  func unknown() throws {
    let identity = try UserIdentity(lookingUp: 3_999_999)
    #expect(identity.groups == [])
    #expect(identity.description == "user 3999999")
  }

  @Test("Whatever the system is short of may be there at the next attempt")
  func passing() {
    for code in [ENFILE, EMFILE, ENOMEM, ENOSPC, EDQUOT, EIO, EAGAIN] {
      #expect(!SystemError(.init(rawValue: code), call: "open").isLasting)
    }
    for code in [ENOENT, EACCES, EPERM, ENOTDIR, ELOOP, ENAMETOOLONG, EROFS] {
      #expect(SystemError(.init(rawValue: code), call: "open").isLasting)
    }
  }
}
