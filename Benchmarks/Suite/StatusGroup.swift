import Foundation
import JSONText

/// How soon the status interface answers where very many jobs are stored: the overview, pages of lists with conditions at
/// any depth, and the page in a browser.
struct StatusGroup: BenchGroup {
  static let name = "status"

  private static let jobsPerRequest = 2_000
  private static let page = 100
  private let options: Options
  private let workplace: Workplace
  private var stored: Int { options.isQuick ? 50_000 : 1_000_000 }
  private var asked: Int { options.isQuick ? 2_000 : 20_000 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let daemon = try DaemonRun(workplace, configuration: "[Retention]\nCompletedCount=10000000\n")
    try await store(daemon)
    // The client has the other core.
    try await Program(try workplace.tool("taskset")).run("-acp", "0", "\(daemon.processID)")
    var (rates, waits, lists, firsts): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    let cursors = try await onThread { try deepCursors(daemon) }
    for _ in 0..<options.pairs {
      let overview = try await ask(daemon, asked, ["/v1/status"])
      rates.append(overview.rate)
      waits.append(overview.late)
      lists.append(try await ask(daemon, asked / 10, pages(cursors)).late)
      firsts.append(try await ask(daemon, asked / 10, Self.firstPages).late)
    }
    let page = try await visit(daemon)
    let memory = try daemon.peakMemory()
    try await daemon.stop()
    return page + [
      Figure(
        name: "status.rate", unit: "replies/s", ours: rates, peer: [], peerName: "", measure: .ours,
        target: .atLeast(2_000), peakMemory: memory),
      Figure(
        name: "status.memory at the end", unit: "MB", ours: [Double(memory) / 1e6], peer: [], peerName: "",
        measure: .ours,
        target: .atMost(300)),
      Figure(
        name: "status.reply p99", unit: "ms", ours: waits, peer: [], peerName: "", measure: .ours, target: .atMost(5)),
      Figure(
        name: "status.list p99", unit: "ms", ours: lists, peer: [], peerName: "", measure: .ours, target: .atMost(20)),
      Figure(
        name: "status.first pages p99", unit: "ms", ours: firsts, peer: [], peerName: "", measure: .ours,
        target: .atMost(20)),
    ]
  }

  /// Stores jobs that are over, every tenth of them in a queue of its own.
  private func store(_ daemon: DaemonRun) async throws {
    let usual = "{\"type\":\"noop\"}"
    let other = "{\"type\":\"noop\",\"queue\":\"other\"}"
    let jobs = (0..<Self.jobsPerRequest).map { $0 % 10 == 0 ? other : usual }
    let body = "{\"jobs\":[" + jobs.joined(separator: ",") + "]}"
    let requests = stored / Self.jobsPerRequest
    try await withThrowingTaskGroup(of: Void.self) { group in
      for client in 0..<4 {
        group.addTask {
          for _ in stride(from: client, to: requests, by: 4) {
            try await onThread { _ = try daemon.send("POST", "/v1/jobs", wait: true, body) }
          }
        }
      }
      try await group.waitForAll()
    }
    let status = try daemon.status()
    guard status["jobs"]?["completed"]?.integer == Int64(stored) else {
      throw BenchError("the jobs were not all completed: \(status.serialized())")
    }
  }

  /// The cursors of places all over the list of all jobs.
  private func deepCursors(_ daemon: DaemonRun) throws -> [String] {
    var (cursors, count, query): ([String], Int, [String: String]) = ([], 0, ["limit": "1000"])
    while true {
      let reply = try daemon.send("GET", "/v1/jobs", query: query)
      count += reply["jobs"]?.array?.count ?? 0
      guard let cursor = reply["next"]?.string else { break }
      cursors.append(cursor)
      query["cursor"] = cursor
    }
    guard count == stored else { throw BenchError("the list of \(stored) jobs has \(count)") }
    return stride(from: 0, to: cursors.count, by: max(1, cursors.count / 100)).map { cursors[$0] }
  }

  /// The conditions of lists, the first without any.
  private static let conditions = [
    "", "&state=completed", "&type=noop&queue=other", "&argument.number=7", "&text=noop-q", "&state=discarded",
  ]

  /// Pages with several conditions, at each of some places.
  private func pages(_ cursors: [String]) -> [String] {
    cursors.flatMap { cursor in
      Self.conditions.map { "/v1/jobs?limit=\(Self.page)&cursor=\(cursor)\($0)" }
    }
  }

  /// First pages, for which alone matches are counted; no job has the batch, and all were accepted since the moment.
  private static let firstPages =
    (conditions + ["&order=oldest", "&batch=none", "&state=completed,discarded,held", "&since=2000-01-01T00:00:00Z"])
    .map { "/v1/jobs?limit=\(page)\($0)" }

  /// Views of the page, and the list of jobs with conditions.
  private static let views = [
    "jobs", "jobs?state=completed", "jobs?queue=other", "jobs?state=discarded", "batches", "schedules", "queues",
    "objects", "quarantine", "configuration", "overview",
  ]

  /// The first paint of the page in a browser, with nothing in its cache, and then its views.
  private func visit(_ daemon: DaemonRun) async throws -> [Figure] {
    let printed = try await Program(try workplace.tool("python3")).run(
      ["Benchmarks/Peers/first_paint.py", daemon.root + "/run/bobbin.sock", "\(options.pairs)"] + Self.views,
      environment: ["PATH": "/usr/bin:/bin", "HOME": workplace.path]
    ).split(whereSeparator: \.isWhitespace)
    let words = printed.compactMap { Double($0) }
    guard words.count == 5, let slowest = printed.last else {
      throw BenchError("first_paint.py printed something else than five numbers and a view")
    }
    return [
      Figure(
        name: "status.first paint", unit: "ms", ours: [words[0]], peer: [words[2]], peerName: "a page of one word",
        measure: .ours, target: .atMost(300)),
      Figure(
        name: "status.full page", unit: "ms", ours: [words[3]], peer: [], peerName: "", measure: .ours,
        target: .atMost(600)),
      Figure(
        name: "status.slowest view (\(slowest))", unit: "ms", ours: [words[4]], peer: [], peerName: "", measure: .ours,
        target: .atMost(500)),
      Figure(
        name: "status.bytes of the page", unit: "kB", ours: [words[1] / 1_000], peer: [], peerName: "", measure: .ours,
        target: .atMost(150)),
    ]
  }

  private func ask(_ daemon: DaemonRun, _ count: Int, _ paths: [String]) async throws -> (rate: Double, late: Double) {
    let client = try await workplace.peer("ask_status", "-lc")
    let arguments = ["-c", "1", client, daemon.root + "/run/bobbin.sock", "\(count)"] + paths
    let words = try await Program(try workplace.tool("taskset")).run(arguments).split(whereSeparator: \.isWhitespace)
    guard words.count == 2, let rate = Double(words[0]), let late = Double(words[1]) else {
      throw BenchError("\(client) printed \"\(words.joined(separator: " "))\" instead of two numbers")
    }
    return (rate, late)
  }
}
