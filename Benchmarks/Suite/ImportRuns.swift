import Foundation
import JSONText

/// The imports that are measured, ours and those of peers; each checks that the work was done.
struct ImportRuns: Sendable {
  let workplace: Workplace

  init(_ workplace: Workplace) { self.workplace = workplace }

  // MARK: Ours

  private func jobFile(_ file: String, _ entity: String, _ mode: String, _ name: String) throws -> String {
    let job: JSONValue = .object([
      "type": "import",
      "arguments": .object(["input": .string(file), "entity": .string(entity), "mode": .string(mode)]),
    ])
    let path = "\(workplace.path)/\(name).json"
    try Data(job.serialized().utf8).write(to: URL(filePath: path))
    return path
  }

  private func submit(_ jobFile: String, to daemon: DaemonRun) async throws -> Double {
    workplace.syncDisks()
    let start = ContinuousClock.now
    try await Program(workplace.program("bobbinctl")).run("--root", daemon.root, "submit", "--wait", jobFile)
    return (ContinuousClock.now - start) / .seconds(1)
  }

  func people(_ file: String, rows: Int) async throws -> (seconds: Double, peak: Int) {
    let daemon = try DaemonRun(workplace)
    let seconds = try await submit(try jobFile(file, "Person", "insert", "import"), to: daemon)
    let peak = try daemon.peakMemory()
    try await check(daemon.store, rows: rows)
    try await daemon.stop()
    return (seconds, peak)
  }

  /// Updates members that were imported before; the seconds of the update.
  func members(_ before: String, _ after: String, rows: Int) async throws -> Double {
    let daemon = try DaemonRun(workplace)
    _ = try await submit(try jobFile(before, "Member", "insert", "members"), to: daemon)
    let seconds = try await submit(try jobFile(after, "Member", "update", "changes"), to: daemon)
    try await checkMembers(daemon.store, rows: rows)
    try await daemon.stop()
    return seconds
  }

  /// Submits small jobs one after the other while an import runs; the milliseconds until each is durable.
  func smallJobs(besides file: String) async throws -> [Double] {
    let daemon = try DaemonRun(workplace)
    let importing = try jobFile(file, "Person", "insert", "import")
    let body = try String(contentsOfFile: importing, encoding: .utf8)
    let accepted = try daemon.send("POST", "/v1/jobs", body)
    guard let id = accepted["jobs"]?.array?.first?["id"]?.string else {
      throw BenchError("the import was not accepted")
    }
    var latencies: [Double] = []
    while true {
      let start = ContinuousClock.now
      try daemon.send("POST", "/v1/jobs", wait: true, #"{"type": "noop"}"#)
      latencies.append((ContinuousClock.now - start) / .milliseconds(1))
      let state = try daemon.send("GET", "/v1/jobs/\(id)")["state"]?.string
      if state == "completed" { break }
      guard state == "running" || state == "available" else { throw BenchError("the import is \(state ?? "gone")") }
    }
    try await daemon.stop()
    return latencies
  }

  // MARK: Peers

  func peopleByShell(_ file: String, rows: Int) async throws -> Double {
    let folder = try workplace.emptyFolder("p")
    let store = folder + "/peer.sqlite"
    let script = """
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA temp_store = MEMORY;
      CREATE TABLE Person (firstName TEXT, lastName TEXT, age INTEGER, address TEXT);
      .import --csv --skip 1 '\(file)' Person
      """
    try Data(script.utf8).write(to: URL(filePath: folder + "/import.sql"))
    return try await measure(store, rows: rows) {
      try await Program(try workplace.tool("sqlite3")).run("-batch", store, ".read '\(folder)/import.sql'")
    }
  }

  func peopleByPython(_ program: String, _ file: String, rows: Int, _ options: String...) async throws -> Double {
    let store = try workplace.emptyFolder("p") + "/peer.sqlite"
    try await Program(try workplace.tool("sqlite3")).run(
      store, "PRAGMA journal_mode = WAL; CREATE TABLE Person (firstName TEXT, lastName TEXT, age INTEGER, address TEXT)"
    )
    return try await measure(store, rows: rows) {
      _ = try await Program(program).run(["insert", store, "Person", file, "--csv", "--silent"] + options)
    }
  }

  private func measure(_ store: String, rows: Int, _ body: () async throws -> Void) async throws -> Double {
    workplace.syncDisks()
    let start = ContinuousClock.now
    try await body()
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    try await check(store, rows: rows)
    return seconds
  }

  /// The peer imports the members before, which does not count.
  func membersByPeer(_ before: String, _ after: String, rows: Int) async throws -> Double {
    let store = try workplace.emptyFolder("p") + "/peer.sqlite"
    let program = Program(try await workplace.peer("upsert_rows"))
    _ = try await program.measure(store, before)
    workplace.syncDisks()
    let start = ContinuousClock.now
    _ = try await program.measure(store, after)
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    try await checkMembers(store, rows: rows)
    return seconds
  }

  // MARK: Checks

  /// Both sides must have done the work.
  private func check(_ store: String, rows: Int) async throws {
    let found = try await Program(try workplace.tool("sqlite3")).run(
      store, "SELECT count(*), sum(age), count(DISTINCT address) FROM Person")
    let ages = (rows / 100) * 4950
    guard found.trimmingCharacters(in: .newlines) == "\(rows)|\(ages)|\(rows)" else {
      throw BenchError("\(store) should hold \(rows) rows with distinct addresses, but has \(found)")
    }
  }

  private func checkMembers(_ store: String, rows: Int) async throws {
    let found = try await Program(try workplace.tool("sqlite3")).run(
      store, "SELECT count(*), sum(_version), sum(age), min(name), max(name) FROM Member")
    let ages = (rows / 100) * 4950 + rows
    guard found.trimmingCharacters(in: .newlines).hasPrefix("\(rows)|\(2 * rows)|\(ages)|") else {
      throw BenchError("\(store) should hold \(rows) members that were updated once, but has \(found)")
    }
  }
}
