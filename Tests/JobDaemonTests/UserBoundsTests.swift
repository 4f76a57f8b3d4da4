import Configuration
import Testing

@testable import JobDaemon

/// For whom a host runs the jobs of other hosts.
@Suite("The bounds of the users for whom a host runs others' jobs")
struct UserBoundsTests {
  private func bounds(_ keys: String) throws -> UserBounds {
    let configuration = try Configuration.parse("[Fleet]\n\(keys)\n", file: "test")
    return UserBounds(configuration: configuration.fleet, spool: "b:/spool")
  }

  @Test(
    "are numbers and ranges; none means everybody",
    arguments: [
      ("", -1, true), ("", 0, true), ("RunsAs=1000-59999", 0, false), ("RunsAs=1000-59999", 1000, true),
      ("RunsAs=1000-59999", 60_000, false), ("RunsAs=0 7", 7, true), ("RunsAs=0 7", 6, false),
      ("RunsAs=0 7", -1, false),
      ("RunsAs=0-4294967294", 4_294_967_295, false),
    ])
  func users(keys: String, submitter: Int64, runs: Bool) throws {
    let refusal = try bounds(keys).refusal(submitter: submitter, origin: "a:/spool", place: nil, namesFiles: false)
    #expect((refusal == nil) == runs, "\(refusal ?? "")")
    // What the database says of the spool is worth no more than the number.
    let own = try bounds(keys).refusal(submitter: submitter, origin: "b:/spool", place: nil, namesFiles: false)
    #expect((own == nil) == runs)
  }

  @Test("are refused with what is allowed", arguments: ["x", "7-", "-7", "9-7", "1-2-3", "4294967295", "1,2"])
  func badUsers(value: String) throws {
    #expect(throws: (any Error).self) { try bounds("RunsAs=\(value)") }
  }

  @Test(
    "keep jobs that name files where numbers mean the same users",
    arguments: [
      ("", nil, true, true), ("UserDomain=x", nil, true, false), ("UserDomain=x", nil, false, true),
      ("UserDomain=x", "users of x", true, true), ("UserDomain=x", "gpu at users of x", true, true),
      ("UserDomain=x", "users of y", true, false), ("UserDomain=x", "gpu", true, false),
    ] as [(String, String?, Bool, Bool)])
  func domains(keys: String, place: String?, namesFiles: Bool, runs: Bool) throws {
    let refusal = try bounds(keys).refusal(
      submitter: 1000, origin: "a:/spool", place: place, namesFiles: namesFiles)
    #expect((refusal == nil) == runs, "\(refusal ?? "")")
  }
}
