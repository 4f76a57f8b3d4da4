import StoreInterface
import Testing

@testable import PostgresStore

@Suite("The address of a PostgreSQL database")
struct ConnectionTargetTests {
  private func target(_ url: String) throws -> ConnectionTarget {
    try ConnectionTarget(url, options: PostgresStoreOptions())
  }

  @Test(
    "needs no certificate where nobody else can listen",
    arguments: [
      "postgresql:///jobs?host=/run/postgresql", "postgresql://localhost/jobs", "postgresql://127.0.0.1:5433/jobs",
      "postgresql://[::1]/jobs", "postgresql://db.example.org/jobs?hostaddr=127.0.0.1",
    ])
  func local(url: String) throws {
    #expect(try target(url).settings["sslmode"] == nil)
  }

  @Test("demands a verified server elsewhere, also of one host among several")
  func remote() throws {
    #expect(try target("postgresql://db.example.org/jobs").settings["sslmode"] == "verify-full")
    #expect(try target("postgresql://localhost,10.0.0.7/jobs").settings["sslmode"] == "verify-full")
    let error = #expect(throws: StoreError.self) {
      try target("postgresql://localhost,db.example.org/jobs?sslmode=require")
    }
    #expect(error?.code == .cannotOpen)
    #expect(error?.message.contains("verify-full") == true)
    #expect(throws: StoreError.self) { try target("postgresql://localhost/jobs?hostaddr=10.0.0.7&sslmode=disable") }
  }

  @Test("names hosts, ports and database in messages, and never the password")
  func place() throws {
    #expect(
      try target("postgresql://ada@a.example.org:5433,b.example.org:5434/jobs").place
        == "postgresql://a.example.org:5433,b.example.org:5434/jobs")
    #expect(
      try target("postgresql://127.0.0.1,127.0.0.2/jobs").place == "postgresql://127.0.0.1:5432,127.0.0.2:5432/jobs")
    let error = #expect(throws: StoreError.self) { try target("postgresql://ada:geheim@localhost/jobs") }
    #expect(error?.message.contains("password file") == true)
    #expect(error.map { "\($0.debugDescription)".contains("geheim") } == false)
    let unreadable = #expect(throws: StoreError.self) { try target("postgresql://ada:geheim@[broken/jobs") }
    #expect(unreadable.map { "\($0.debugDescription)".contains("geheim") } == false)
  }

  @Test("takes the parameter of a pooler out, whose sessions keep no settings, and refuses several of them")
  func pooled() throws {
    let pooled = try target("postgresql://localhost:6432/jobs?pooled=yes&connect_timeout=7")
    #expect(pooled.isPooled)
    #expect(pooled.settings["connect_timeout"] == "7")
    #expect(pooled.settings["options"] == nil)
    #expect(
      pooled.transactionSettings(ofSession: "a'b")?.contains("set_config('application_name', 'a''b', true)") == true)
    #expect(try !target("postgresql://localhost/jobs?pooled=no").isPooled)
    for other in ["pooled=perhaps&pooled=yes", "POOLED=yes", "%70ooled=true", "pooled"] {
      let error = #expect(throws: StoreError.self) { try target("postgresql://localhost/jobs?\(other)") }
      #expect(error?.message.contains("write pooled=yes") == true, "\(other)")
    }
    let several = #expect(throws: StoreError.self) { try target("postgresql://localhost,127.0.0.1/jobs?pooled=yes") }
    #expect(several?.message.contains("several poolers") == true)
    let options = #expect(throws: StoreError.self) {
      try target("postgresql://localhost/jobs?options=-c%20work_mem%3D1MB&pooled=yes")
    }
    #expect(options?.message.contains("ALTER ROLE") == true)
    let given = try target("postgresql://localhost/jobs?target_session_attrs=read-write&pooled=yes")
    #expect(given.settings["target_session_attrs"] == "any")
  }

  @Test("keeps what the operator says, and adds what is missing")
  func settings() throws {
    let target = try target(
      "postgresql://a,b/jobs?target_session_attrs=any&connect_timeout=7&options=-c%20work_mem%3D1MB&sslmode=verify-full"
    )
    #expect(target.settings["target_session_attrs"] == "any")
    #expect(target.settings["connect_timeout"] == "7")
    #expect(target.settings["tcp_user_timeout"] == "5000")
    #expect(target.settings["options"]?.hasPrefix("-c work_mem=1MB -c search_path=\"bobbin\"") == true)
  }
}
