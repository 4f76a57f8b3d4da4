import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite("Rights by mode and access control list")
struct AccessControlListTests {
  @Test(
    "Bytes of another format let nobody in",
    arguments: [[], [2, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0, 1], [2, 0, 0, 0, 3, 0, 7, 0, 0, 0, 0, 0]] as [[UInt8]])
  func unknownFormat(bytes: [UInt8]) throws {
    let error = #expect(throws: SystemError.self) { try AccessControlList(parsing: bytes) }
    #expect(error?.code == .badMessage)
  }

  @Test("A named user's and a group's entry hold before what others may, and the mask bounds them")
  func precedence() throws {
    let list = try AccessControlList(
      parsing: AccessControlListBytes(owner: 6, group: 0, other: 4, mask: 6, users: [11: 0, 12: 7], groups: [20: 2])
        .bytes)
    func may(_ user: UInt32, _ groups: Set<UInt32>, _ wanted: Permission) -> Bool {
      list.allows(UserIdentity(user: user, groups: groups), wanted, owner: 10, group: 19)
    }
    #expect(may(10, [], [.read, .write]))
    #expect(!may(11, [], .read))
    #expect(may(12, [], [.read, .write]))
    #expect(!may(12, [], .search), "the mask takes the right to search away")
    #expect(!may(13, [19], .read), "a member of the owning group doesn't fall back to what others may")
    #expect(may(13, [19, 20], .write))
    #expect(!may(13, [20], [.read, .write]), "no single entry grants both")
    #expect(may(13, [], .read))
  }

  /// Users whom this machine need not know.
  private static let identities = [
    UserIdentity(user: 4001, primaryGroup: 4101, groups: [4101]),
    UserIdentity(user: 4002, primaryGroup: 4101, groups: [4101, 4102]),
    UserIdentity(user: 4003, primaryGroup: 4103, groups: [4103, 4102]),
    UserIdentity(user: 4004, primaryGroup: 4104, groups: [4104]),
  ]

  @Test("For random owners, modes and lists the answer is the kernel's", .enabled(if: SkipReason.runsAsRoot()))
  func likeTheKernel() async throws {
    let folder = try TemporaryDirectory()
    try #require(chmod(folder.path, 0o711) == 0)
    var random = SeededGenerator(seed: 7)
    let names = (0..<150).map { "d\($0)" }
    var maskless: Set<String> = []
    for name in names { if try Self.make(folder.path(name), &random) { maskless.insert(name) } }
    for identity in Self.identities {
      let groups = identity.groups.map(String.init).joined(separator: ",")
      let script = #"cd "$1" || exit 1; shift; for d; do for t in r w x; do test -$t $d && echo "$d $t"; done; done; :"#
      let tool = try await Tool.run(
        "/usr/bin/setpriv",
        ["--reuid=\(identity.user)", "--regid=\(identity.primaryGroup ?? 0)", "--groups=\(groups)", "/bin/sh", "-c"]
          + [script, "sh", folder.path] + names)
      try #require(tool.code == 0, "\(tool.errors)")
      let kernel = Set(tool.output.split(separator: "\n").map(String.init))
      for name in names {
        let file = try FileDescriptor.open(folder.path(name))
        let status = try file.status()
        for wanted in [Permission.read, .write, .search] {
          let isAllowed = try file.allows(identity, wanted, status: status)
          // With an empty mask the kernel doesn't look at the list at all, and may be more generous.
          if maskless.contains(name) && !isAllowed { continue }
          #expect(isAllowed == kernel.contains("\(name) \(wanted.letters)"), "\(identity), \(name), \(status)")
        }
      }
    }
  }

  /// Makes a folder of random rights; returns whether its list has an empty mask.
  private static func make(_ path: String, _ random: inout SeededGenerator) throws -> Bool {
    func bits() -> UInt8 { UInt8.random(in: 0...7, using: &random) }
    try systemCall("mkdir", path) { mkdir(path, 0o700) }
    let owner = UInt32.random(in: 4001...4005, using: &random)
    let group = UInt32.random(in: 4101...4105, using: &random)
    try systemCall("chown", path) { chown(path, owner, group) }
    if Bool.random(using: &random) {
      let mode = mode_t.random(in: 0...0o777, using: &random)
      try systemCall("chmod", path) { chmod(path, mode) }
      return false
    }
    var users: [UInt32: UInt8] = [:]
    var groups: [UInt32: UInt8] = [:]
    for _ in 0..<Int.random(in: 0...2, using: &random) { users[.random(in: 4001...4004, using: &random)] = bits() }
    for _ in 0..<Int.random(in: 0...2, using: &random) { groups[.random(in: 4101...4104, using: &random)] = bits() }
    let mask = bits()
    let list = AccessControlListBytes(
      owner: bits(), group: bits(), other: bits(), mask: mask, users: users, groups: groups)
    try list.set(on: path)
    return mask == 0
  }
}
