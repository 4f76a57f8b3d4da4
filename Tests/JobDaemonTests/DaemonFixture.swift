import Configuration
import Foundation
import Glibc
import JSONText
import Jobs
import ObjectGraph
import SQLiteStore
import SystemSupport
import TestSupport

@testable import JobDaemon

/// A whole daemon but for its socket and its signals, in a folder of its own and in this process.
final class DaemonFixture: Sendable {
  let daemon: Daemon
  private let folder: TemporaryDirectory

  /// - Parameters:
  ///   - settings: a configuration; flushes come fast unless it says otherwise.
  ///   - handlers: beside `noop`.
  ///   - store: the store; nil for SQLite.
  ///   - hostFaultDelays: the first time for which a fault of the host holds a type, and the longest.
  init(
    _ settings: String = "", handlers: [any JobHandler] = [], store: PersistentStoreDescription? = nil,
    hostFaultDelays: ClosedRange<Duration> = .milliseconds(1) ... .milliseconds(4)
  ) throws {
    folder = try TemporaryDirectory()
    let paths = Paths(root: folder.path)
    for path in [
      paths.spoolNew, paths.spoolTemporary, paths.spoolCurrent, paths.spoolFailed, paths.payload, paths.state,
    ] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    let configuration = try Configuration.parse(
      "[Workers]\nCount=2\n[Writer]\nFlushIntervalSec=5ms\n\(settings)\n", file: "test")
    let coordinator = PersistentStoreCoordinator(model: try BuiltInModel.merged(withModelsIn: "/nonexistent"))
    try coordinator.open(store ?? .sqlite(at: URL(fileURLWithPath: paths.store)))
    let log = open("/dev/null", O_WRONLY | O_CLOEXEC)
    var parts = Daemon.Parts(
      paths: paths, configuration: ConfigurationBox(configuration), coordinator: coordinator,
      handlers: [NoopHandler()] + handlers,
      log: DaemonLog(journal: Journal(identifier: "test", format: .human, output: log), level: .error))
    parts.hostFaultDelays = hostFaultDelays
    daemon = try Daemon(parts) { preconditionFailure("\($0)") }
  }

  /// Begins to claim and run jobs.
  func start() throws { try daemon.start() }

  /// Stops the daemon and closes its store.
  func stop() async throws {
    _ = await daemon.stop()
    try daemon.coordinator.close()
  }

  /// The names of the files that are claimed and not released.
  func leftFiles() throws -> [FileName] { try daemon.spool.current.entries().filter { !$0.isHidden } }

  func submit(_ text: String) throws -> [ManagedObjectID] {
    try daemon.accept(Data(text.utf8), submitter: getuid()).flatMap(\.objectIDs)
  }

  /// Submits jobs and waits until all of them are over and on disk.
  ///
  /// - Parameter seconds: the limit; very many jobs take their time beside other tests.
  @discardableResult
  func run(_ text: String, within seconds: Double = 60) async throws -> [ManagedObjectID] {
    let ids = try submit(text)
    try await waitForRelease(of: ids, within: seconds)
    return ids
  }

  /// Waits until jobs are over and on disk.
  func waitForRelease(of ids: [ManagedObjectID], within seconds: Double = 60) async throws {
    try await withTimeout(seconds: seconds) { [daemon] in
      let (ends, continuation) = AsyncStream<Void>.makeStream()
      daemon.waiters.add(ids, to: daemon.scheduler) { continuation.yield() }
      var left = ids.count
      if left == 0 { return }
      for await _ in ends {
        left -= 1
        if left == 0 { break }
      }
    }
  }

  /// Carries a command out for a job.
  func perform(_ command: JobControl.Command, on id: String) async throws -> JobControl.Reply? {
    try await withTimeout { [daemon] in
      try await withCheckedThrowingContinuation { continuation in
        daemon.control.perform(command, on: [id], by: .owner) { result in
          continuation.resume(with: result.map { $0.map(\.reply) })
        }
      }.first
    }
  }

  /// Carries a command out for the jobs of a selection.
  func perform(
    _ command: JobControl.Command, onAll selection: JobSelection, isTrial: Bool = false
  ) async throws -> JobControl.Outcome {
    try await withTimeout { [daemon] in
      try await withCheckedThrowingContinuation { continuation in
        daemon.control.perform(command, onAll: selection, by: .owner, isTrial: isTrial) {
          continuation.resume(with: $0)
        }
      }
    }
  }

  /// What a job's record says.
  func record<Value: Sendable>(_ id: String, _ value: @Sendable (Job) -> Value) throws -> Value {
    try ManagedObjectContext(parent: daemon.main, name: "test").performAndWait { context in
      let found = try context.fetch(
        FetchRequest<Job>(.compare(.keyPath(["id"]), .equal, .value(.string(id)), [])))
      guard let job = found.first else { throw JobFailure("there is no job \(id)") }
      return value(job)
    }
  }

  /// How many jobs have records.
  func jobCount() throws -> Int {
    try ManagedObjectContext(parent: daemon.main, name: "test").performAndWait {
      try $0.count(for: FetchRequest<Job>())
    }
  }

  /// Waits until so many records are left, or fewer.
  func waitForJobCount(atMost count: Int) async throws { try await waitUntil { try self.jobCount() <= count } }

  /// Waits until something is true of the records; looks whenever main has changed.
  func waitUntil(_ isTrue: @escaping @Sendable () throws -> Bool) async throws {
    let (changes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let observation = daemon.main.observe { _ in continuation.yield() }
    defer { observation.cancel() }
    continuation.yield()
    try await withTimeout {
      for await _ in changes where try isTrue() { break }
    }
  }
}

/// A type whose attempts do what a test says.
struct ScriptedHandler: JobHandler {
  let type: String
  let hasOutsideEffects: Bool
  private let body: @Sendable (JobExecution) async throws -> JSONValue

  init(
    _ type: String, hasOutsideEffects: Bool = false,
    _ body: @escaping @Sendable (JobExecution) async throws -> JSONValue
  ) {
    self.type = type
    self.hasOutsideEffects = hasOutsideEffects
    self.body = body
  }

  func validate(_ arguments: JSONValue) throws(JobFileError) {}

  nonisolated(nonsending) func run(_ execution: JobExecution) async throws -> JSONValue { try await body(execution) }
}
