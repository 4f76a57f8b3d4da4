import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import JobDaemon

/// Known jobs whose place others take.
@Suite("A job that is replaced")
struct ReplacementTests {
  /// What attempts have said, and the handler that says it.
  private final class Work: Sendable {
    private let words = Mutex<[String]>([])
    private let begun = Mutex<(@Sendable () -> Void)?>(nil)

    var said: [String] { words.withLock { $0 } }

    func whenBegun(_ call: @escaping @Sendable () -> Void) { begun.withLock { $0 = call } }

    /// An attempt says its argument `say`; with `hang` it then goes on until it is told to end.
    func handler() -> ScriptedHandler {
      ScriptedHandler("work") { [self] execution in
        let arguments = execution.specification.arguments
        let word = arguments["say"]?.string ?? ""
        words.withLock { $0.append(word) }
        begun.withLock { $0 }?()
        if arguments["hang"] != nil {
          // What it saves then would come late.
          while !Task.isCancelled { await Task.yield() }
        }
        if arguments["fail"] != nil { throw JobFailure("it was to fail") }
        return .object(["said": .string(word)])
      }
    }
  }

  private let work: Work
  private let fixture: DaemonFixture

  init() throws {
    let work = Work()
    self.work = work
    fixture = try DaemonFixture(handlers: [work.handler()])
    try fixture.start()
  }

  private static func job(_ say: String, _ more: String = "", arguments: String = "") -> String {
    let added = more.isEmpty ? "" : ", " + more
    return #"{"type": "work", "id": "x", "arguments": {"say": "\#(say)"\#(arguments)}\#(added)}"#
  }

  /// Submits a replacement of the job `x`, and waits until it is made and, if it runs, over.
  private func replace(_ text: String, user: UInt32 = getuid(), runs: Bool = true) async throws {
    let files = try fixture.daemon.accept(Data(text.utf8), submitter: user)
    #expect(files.flatMap(\.replaced) == files.flatMap(\.objectIDs))
    try await waitForReplacement(files)
    if runs { try await fixture.waitForRelease(of: files.flatMap(\.objectIDs)) }
  }

  private func waitForReplacement(_ files: [AdmittedFile]) async throws {
    let replacing = try #require(files.first?.replacing)
    try await withTimeout {
      await withCheckedContinuation { continuation in
        replacing.end.whenSet { continuation.resume() }
      }
    }
  }

  private func state(_ id: String) throws -> JobState? {
    let object = try fixture.record(id) { $0.objectID }
    return fixture.daemon.scheduler.read { schedule, _ in schedule.state(of: object) }
  }

  private func record(_ id: String = "x") throws -> [String] {
    try fixture.record(id) { job in
      [job.state, job.arguments, job.result ?? "", "\(job.attempt) of \(job.maxAttempts)"]
    }
  }

  @Test("runs once more when it was over, whatever its end, and its earlier runs are kept")
  func over() async throws {
    try await fixture.run(Self.job("one", #""maxAttempts": 1"#, arguments: #", "fail": true"#))
    #expect(try record()[0] == "discarded")
    try await replace(Self.job("two", #""replace": true, "priority": 7"#))
    #expect(try record() == ["completed", #"{"say":"two"}"#, #"{"said":"two"}"#, "2 of 21"])
    try await replace(#"{"type": "noop", "id": "x", "replace": true}"#)
    #expect(work.said == ["one", "two"])
    #expect(try fixture.record("x") { [$0.type, $0.state] } == ["noop", "completed"])
    #expect(
      try earlierRuns()
        == [["1", "discarded", "it was to fail", "null"], ["2", "completed", "", #"{"said":"two"}"#]])
    try await fixture.stop()
  }

  private func earlierRuns() throws -> [[String]] {
    try ManagedObjectContext(parent: fixture.daemon.main, name: "test").performAndWait { context in
      let job = try #require(try context.fetch(FetchRequest<Job>(ids: ["x"])).first)
      return try StatusService.earlierRuns(of: job, in: context).map {
        ["\($0.attempt)", $0.state.rawValue, $0.error ?? "", $0.result?.serialized() ?? ""]
      }
    }
  }

  @Test(
    "keeps the run before one that was cancelled before it began, and nothing of that one", arguments: [true, false])
  func unbegun(hasRun: Bool) async throws {
    if hasRun { try await fixture.run(Self.job("one")) }
    for word in ["two", "three"] {
      let later = #""replace": true, "notBefore": "2100-01-01T00:00:00Z""#
      if hasRun || word == "three" {
        try await replace(Self.job(word, later), runs: false)
      } else {
        _ = try fixture.submit(Self.job(word, later))
      }
      #expect(try await fixture.perform(.cancel(reason: "enough"), on: "x") == .done)
    }
    try await replace(Self.job("four", #""replace": true"#))
    #expect(work.said == (hasRun ? ["one"] : []) + ["four"])
    #expect(try earlierRuns() == (hasRun ? [["1", "completed", "", #"{"said":"one"}"#]] : []))
    try await fixture.stop()
  }

  @Test("is ended where it runs, saves nothing late, and then runs as the file says")
  func running() async throws {
    let begun = AsyncStream<Void>.makeStream()
    work.whenBegun { begun.continuation.yield() }
    let first = try fixture.submit(Self.job("old", arguments: #", "hang": true"#))
    try await withTimeout { for await _ in begun.stream { break } }
    let after = try fixture.submit(#"{"type": "noop", "id": "y", "after": "x"}"#)
    try await replace(Self.job("new", #""replace": true"#))
    try await fixture.waitForRelease(of: first + after)
    #expect(work.said == ["old", "new"])
    #expect(try record() == ["completed", #"{"say":"new"}"#, #"{"said":"new"}"#, "2 of 21"])
    #expect(try fixture.record("y") { $0.state } == "completed", "what waits for it waits for its new run")
    try await fixture.stop()
    #expect(try fixture.leftFiles().isEmpty)
  }

  @Test("takes its new place, priority, time and batch where it waits; held it stays held, and others wait on")
  func waiting() async throws {
    let later = #""notBefore": "2100-01-01T00:00:00Z""#
    _ = try fixture.submit(Self.job("one", later + #", "batch": "old""#))
    let callback = try fixture.submit(
      #"{"batch": "old", "jobs": [{"type": "noop", "id": "m"}], "callback": {"type": "noop", "id": "end"}}"#)
    _ = try fixture.submit(#"{"type": "noop", "id": "y", "after": "x"}"#)
    #expect(try state("end") == .waiting)
    let held = try await fixture.perform(.hold, on: "x")
    #expect(held == .done)
    let files = try fixture.daemon.accept(
      Data(Self.job("two", #""replace": true, "queue": "q", "priority": 3"#).utf8), submitter: getuid())
    try await waitForReplacement(files)
    // It has left the batch, of which nothing is left.
    try await fixture.waitForRelease(of: callback)
    #expect(try state("x") == .held && state("y") == .waiting)
    #expect(try fixture.record("x") { [$0.queue, "\($0.priority)", $0.state] } == ["q", "3", "held"])
    #expect(try await fixture.perform(.release, on: "x") == .done)
    try await fixture.waitForRelease(of: files.flatMap(\.objectIDs) + [fixture.record("y") { $0.objectID }])
    #expect(work.said == ["two"])
    #expect(try fixture.record("y") { $0.state } == "completed")
    try await fixture.stop()
    #expect(try fixture.leftFiles().isEmpty)
  }

  @Test("gets the unique key if it is free, and otherwise ends as a new job would")
  func unique() async throws {
    let later = #""notBefore": "2100-01-01T00:00:00Z""#
    _ = try fixture.submit(Self.job("one", later + #", "unique": "mine""#))
    _ = try fixture.submit(#"{"type": "noop", "id": "other", "unique": "theirs", \#(later)}"#)
    let files = try fixture.daemon.accept(
      Data(Self.job("two", later + #", "replace": true, "unique": "mine""#).utf8), submitter: getuid())
    try await waitForReplacement(files)
    #expect(try state("x") == .scheduled)
    try await replace(Self.job("three", later + #", "replace": true, "unique": "theirs""#))
    #expect(
      try fixture.record("x") { [$0.state, $0.failure ?? ""] } == [
        "cancelled", #"another unfinished job has the unique key "theirs""#,
      ])
    #expect(fixture.daemon.scheduler.read { schedule, _ in schedule.uniqueOwners.keys.sorted() } == ["theirs"])
    try await fixture.stop()
  }

  @Test("is its owner's: another user is refused, root is not, and an ID that nobody knows is a new job's")
  func rights() async throws {
    _ = try fixture.daemon.accept(Data(Self.job("one", #""replace": true"#).utf8), submitter: 4_711)
    try await fixture.waitUntil { try self.fixture.record("x") { $0.currentState } == .completed }
    let refusal = #expect(throws: AdmissionRefusal.self) {
      try fixture.daemon.accept(Data(Self.job("two", #""replace": true"#).utf8), submitter: 4_712)
    }
    #expect(refusal?.reason == #"the ID "x" is that of another user's job; choose another one"#)
    try await replace(Self.job("three", #""replace": true"#), user: 0)
    #expect(try fixture.record("x") { $0.submitter } == 4_711)
    #expect(work.said == ["one", "three"])
    try await fixture.stop()
  }

  @Test("is replaced with the others of its file, in the order that they ask for, and the callback last")
  func workflow() async throws {
    func file(_ word: String, _ more: String) -> String {
      let jobs = [("b", #", "after": "a""#), ("a", ""), ("c", "")].map { id, after in
        #"{"type": "work", "id": "\#(id)", "arguments": {"say": "\#(word)\#(id)"}\#(after)\#(more)}"#
      }
      let callback = #"{"type": "work", "id": "end", "arguments": {"say": "\#(word)end"}\#(more)}"#
      return #"{"batch": "all", "jobs": [\#(jobs.joined(separator: ","))], "callback": \#(callback)}"#
    }
    try await fixture.run(file("1", ""))
    // Often, as the first jobs may end while the last ones are being replaced.
    for round in 2...20 {
      let files = try fixture.daemon.accept(
        Data(file("\(round):", #", "replace": true"#).utf8), submitter: getuid())
      try await waitForReplacement(files)
      try await fixture.waitForRelease(of: files.flatMap(\.objectIDs))
      let words = work.said.filter { $0.hasPrefix("\(round):") }.map { $0.split(separator: ":").last ?? "" }
      #expect(words.count == 4 && words.last == "end", "\(words)")
      #expect((words.firstIndex(of: "a") ?? 9) < (words.firstIndex(of: "b") ?? 0), "\(words)")
    }
    try await fixture.stop()
  }

  @Test("comes before the jobs of its file that wait for it")
  func sameFile() async throws {
    try await fixture.run(Self.job("one"))
    let file = #"{"jobs": [{"type": "work", "id": "y", "after": "x", "arguments": {"say": "y"}}, "#
    let text = file + Self.job("two", #""replace": true"#) + "]}"
    let files = try fixture.daemon.accept(Data(text.utf8), submitter: getuid())
    try await waitForReplacement(files)
    try await fixture.waitForRelease(of: files.flatMap(\.objectIDs))
    #expect(work.said == ["one", "two", "y"])
    try await fixture.stop()
  }

  @Test(
    "needs an ID that says which, and a truth value",
    arguments: [
      (#"{"type": "noop", "replace": true}"#, #"an "id" has to say which"#),
      (##"{"type": "noop", "id": "#a", "replace": true}"##, #"an "id" has to say which"#),
      (#"{"type": "noop", "id": "a", "replace": "yes"}"#, "must be true or false, not a string"),
    ])
  func malformed(text: String, reason: String) async throws {
    let error = #expect(throws: JobFileError.self) { try JobFile(Data(text.utf8)) }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    try await fixture.stop()
  }
}
