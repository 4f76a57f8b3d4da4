import ControlClient
import DaemonTesting
import Foundation
import SystemSupport
import Synchronization
import TestSupport
import Testing

/// A root, what was submitted to it, and the daemons that have to cope with it one after the other.
final class Trial: Sendable {
  let ledger: Ledger
  private let workload: Mutex<Workload>
  private let currentRoot: Mutex<DaemonRoot>
  private let posts = Mutex<[Task<Void, Never>]>([])

  var root: DaemonRoot { currentRoot.withLock { $0 } }

  init(_ root: DaemonRoot, _ workload: Workload, _ ledger: Ledger = Ledger()) async throws {
    self.ledger = ledger
    currentRoot = Mutex(root)
    self.workload = Mutex(workload)
    try await Workload.prepare(root)
  }

  /// Makes a trial on a fresh root.
  static func fresh(
    salt: UInt64 = 0, kinds: [Workload.Kind] = Workload.Kind.allCases, in directory: TemporaryDirectory? = nil,
    configuration: String = Workload.configuration, queues: [String] = []
  ) async throws -> Trial {
    let root = try DaemonRoot(configuration, in: directory)
    return try await Trial(root, Workload(seed: FaultPlan.seed &+ salt, kinds: kinds, queues: queues))
  }

  /// Goes on with the same root, which was mounted again.
  func reopen() throws {
    let directory = root.directory
    let root = try DaemonRoot(opening: directory)
    currentRoot.withLock { $0 = root }
  }

  /// Draws a number, so that all choices come from one seed.
  func random(in range: ClosedRange<Int>) -> Int {
    workload.withLock { .random(in: range, using: &$0.random) }
  }

  // MARK: Submitting

  /// Drops files of random kinds.
  func drop(files count: Int) throws {
    for _ in 0..<count {
      for file in try workload.withLock({ try $0.next(root) }) { try drop(file) }
    }
  }

  /// Drops a file; if the disk fails meanwhile, it is dropped again after the next start.
  func drop(_ file: ExpectedFile) throws {
    ledger.expect(file)
    do { try root.drop(file.text, as: file.name) } catch {
      ledger.doubt(file)
      throw error
    }
  }

  /// Submits files of random kinds over the socket and waits for them on threads of their own.
  ///
  /// A job without an ID is dropped: over the socket its file would get another name.
  func post(files count: Int) throws {
    for _ in 0..<count {
      for file in try workload.withLock({ try $0.next(root) }) {
        if file.jobs.allSatisfy(\.isNamed) { post(file) } else { try drop(file) }
      }
    }
  }

  private func post(_ file: ExpectedFile) {
    ledger.expect(file)
    let client = ControlClient(socketPath: root.paths.socket)
    let ledger = ledger
    let task = Task {
      do {
        let reply = try await onThread {
          try client.send(
            "POST", "/v1/jobs", query: [URLQueryItem(name: "wait", value: "60")], body: Data(file.text.utf8),
            timeout: .seconds(100))
        }
        if reply.status != 200 { return ledger.doubt(file) }
        for job in try Reply(reply.body).jobs where job.durable { ledger.noteDurable(job.id, job.state) }
      } catch {
        // The daemon is gone: whether it has accepted the jobs is not known, so they are sent again, as a client would.
        ledger.doubt(file)
      }
    }
    posts.withLock { $0.append(task) }
  }

  /// Waits until all requests have an end; after the daemon's end they have.
  func waitForPosts() async {
    let tasks = posts.withLock { posts in
      defer { posts = [] }
      return posts
    }
    for task in tasks { await task.value }
  }

  // MARK: Checking

  /// Starts a daemon that has no faults, waits until all work is done, and looks at what there is.
  ///
  /// - Returns: what is wrong.
  func finish(_ comment: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> [Problem] {
    let daemon = try await DaemonProcess.ready(root)
    let problems = try await finish(daemon, comment, sourceLocation: sourceLocation)
    let end = try await daemon.stop()
    #expect(end == .exited(code: 0), "\(comment)\n\(daemon.logText)", sourceLocation: sourceLocation)
    return problems
  }

  /// Waits until all work is done, and looks at what there is; the daemon goes on.
  func finish(
    _ daemon: DaemonProcess, _ comment: String, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> [Problem] {
    await waitForPosts()
    var problems: [Problem] = []
    if !ledger.orders.isEmpty { problems += try await OrderGiver.problems(ledger, daemon) }
    for file in ledger.drainDoubtful() { try drop(file) }
    if !ledger.orders.isEmpty { try await OrderGiver.release(ledger, daemon) }
    try await daemon.waitUntilSpoolIsEmpty(seconds: 120)
    problems += ledger.problems(with: try await Findings(root))
    let queues = Dictionary(uniqueKeysWithValues: ledger.jobs.map { ($0.id, $0.queue) })
    problems += ledger.orders.problems(with: JobStart.all(in: root)) { queues[$0] }
    let doctor = try await daemon.tool("doctor")
    if doctor.code != 0 {
      problems.append(Problem(kind: .other, description: "doctor: \(doctor.output)\(doctor.errors)"))
    }
    #expect(
      problems.isEmpty,
      """
      \(comment), seed \(FaultPlan.seed): \(problems.map(\.description).joined(separator: "\n"))
      \(ledger.orders.story(of: problems))
      \(daemon.logText)
      """,
      sourceLocation: sourceLocation)
    return problems
  }

  /// What the daemon answers to a submission.
  private struct Reply: Decodable {
    struct Job: Decodable {
      let id: String
      let state: String
      let durable: Bool
    }

    let jobs: [Job]

    init(_ body: Data) throws { self = try JSONDecoder().decode(Reply.self, from: body) }
  }
}
