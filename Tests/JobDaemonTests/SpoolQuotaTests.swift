import Configuration
import SystemSupport
import Testing

@testable import JobDaemon

@Suite("Shares of the spool")
struct SpoolQuotaTests {
  private static let user: UInt32 = 4001

  private static func quota(_ text: String) throws -> SpoolQuota {
    SpoolQuota(try Configuration.parse("[Spool]\n\(text)\n", file: "test").spool)
  }

  @Test("Jobs and bytes of a user's files are added up, and given back with each file")
  func sums() throws {
    let quota = try Self.quota("MaxJobsPerUser=10\nMaxBytesPerUser=1K")
    try quota.add("a", of: Self.user, .init(jobs: 6, bytes: 100))
    try quota.add("b", of: Self.user, .init(jobs: 4, bytes: 100))
    let tooMany = #expect(throws: SpoolQuota.Refusal.self) {
      try quota.add("c", of: Self.user, .init(jobs: 1, bytes: 1))
    }
    #expect(tooMany?.reason.contains("11 jobs") == true && tooMany?.reason.contains("MaxJobsPerUser") == true)
    #expect(quota.size(of: Self.user) == .init(jobs: 10, bytes: 200))
    try quota.add("c", of: Self.user + 1, .init(jobs: 10, bytes: 1024))
    quota.remove("a")
    let tooLarge = #expect(throws: SpoolQuota.Refusal.self) {
      try quota.add("c2", of: Self.user, .init(jobs: 1, bytes: 925))
    }
    #expect(tooLarge?.reason.contains("1025 bytes") == true && tooLarge?.reason.contains("MaxBytesPerUser") == true)
    try quota.add("c2", of: Self.user, .init(jobs: 1, bytes: 924))
    for name in ["b", "c2", "unknown"] as [FileName] { quota.remove(name) }
    #expect(quota.size(of: Self.user) == .init())
  }

  @Test("A file is counted once, whatever it was counted as before")
  func again() throws {
    let quota = try Self.quota("MaxJobsPerUser=10")
    quota.count("a", of: Self.user, .init(jobs: 20, bytes: 5))
    #expect(throws: SpoolQuota.Refusal.self) { try quota.add("b", of: Self.user, .init(jobs: 1, bytes: 1)) }
    try quota.add("a", of: Self.user, .init(jobs: 9, bytes: 5))
    try quota.add("b", of: Self.user, .init(jobs: 1, bytes: 1))
  }

  @Test("Nothing is refused without a limit, nor of root and of the daemon's user; other limits hold at once")
  func exempt() throws {
    let quota = try Self.quota("MaxJobsPerUser=1\nMaxBytesPerUser=0")
    for user in [0, Credentials.effectiveUser] {
      try quota.add(FileName("a\(user)"), of: user, .init(jobs: 1_000, bytes: 1 << 40))
    }
    try quota.add("b", of: Self.user, .init(jobs: 1, bytes: 1 << 40))
    quota.reconfigure(try Configuration.parse("[Spool]\nMaxJobsPerUser=0\n", file: "test").spool)
    quota.remove("b")
    try quota.add("b", of: Self.user, .init(jobs: 2_000_000, bytes: 1 << 20))
  }
}
