import Foundation
import Glibc
import Jobs
import ObjectGraph
import Testing

@testable import JobDaemon

@Suite("Selections of jobs")
struct JobSelectionTests {
  /// A page's jobs by name, how many there are, and where the next one begins.
  private func page(
    _ selection: JobSelection, _ fixture: DaemonFixture, limit: Int = 10, order: JobOrder = .newest,
    cursor: JobCursor? = nil
  ) throws -> (ids: [String], count: JobCount, next: JobPosition?) {
    let daemon = fixture.daemon
    var listing = JobListing(selection: selection, order: order, limit: limit)
    listing.cursor = cursor
    return try ManagedObjectContext(parent: daemon.main, name: "test").performAndWait { [listing] context in
      let page = try listing.page(context, daemon.engine.unfinished)
      return (try page.jobs.map { try context.job(with: $0).id }, page.count, page.next)
    }
  }

  /// All pages of a list, and the count that each tells.
  private func pages(
    _ selection: JobSelection, _ fixture: DaemonFixture, of limit: Int, order: JobOrder = .newest
  ) throws -> (pages: [[String]], counts: Set<Int>) {
    var pages: [[String]] = []
    var counts: Set<Int> = []
    var cursor: JobCursor?
    repeat {
      let (ids, count, next) = try page(selection, fixture, limit: limit, order: order, cursor: cursor)
      pages.append(ids)
      counts.insert(count.number)
      // As a client sends it.
      cursor = next.flatMap { JobCursor(JobCursor(order: order, position: $0, count: count).text) }
      try #require((cursor == nil) == (next == nil))
    } while cursor != nil
    return (pages, counts)
  }

  @Test("Jobs accepted between two times are found, the first included, whatever states are asked for")
  func times() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    for id in ["a", "b"] { try await fixture.run(#"{"type": "noop", "id": "\#(id)"}"#) }
    for id in ["c", "d"] {
      _ = try fixture.submit(#"{"type": "noop", "id": "\#(id)", "notBefore": "2199-01-01T00:00:00Z"}"#)
    }
    func accepted(_ id: String) throws -> Date { try #require(try fixture.record(id) { $0.createdAt }) }
    func expect(_ states: Set<JobState>, _ test: RecordTest, _ ids: [String]) throws {
      let (found, count, next) = try page(JobSelection(states: states, record: test), fixture)
      #expect(found == ids)
      #expect(count == JobCount(number: ids.count))
      #expect(next == nil)
    }
    for states in [[], [.completed, .scheduled]] as [Set<JobState>] {
      let middle = RecordTest(since: try accepted("b"), until: try accepted("d"))
      try expect(states, middle, ["c", "b"])
      #expect(try pages(JobSelection(states: states, record: middle), fixture, of: 1).pages == [["c"], ["b"]])
    }
    try expect([.scheduled], RecordTest(since: accepted("d")), ["d"])
    try expect([.scheduled], RecordTest(until: accepted("d")), ["c"])
    try expect([.completed], RecordTest(until: accepted("b")), ["a"])
    try expect([], RecordTest(since: .distantFuture), [])
    try expect([], RecordTest(submitter: getuid(), since: accepted("b")), ["d", "c", "b"])
    try expect([.scheduled], RecordTest(submitter: getuid() + 1), [])
    try await fixture.stop()
  }

  @Test("The pages of a list have each job once, in either order, whatever is asked for, and tell the same count")
  func pages() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    let ids = (0..<12).map { String(format: "job%02d", $0) }
    for (number, id) in ids.enumerated() {
      let due = number.isMultiple(of: 3) ? #", "notBefore": "2199-01-01T00:00:00Z""# : ""
      let queue = number.isMultiple(of: 2) ? "even" : "odd"
      let job = #"{"type": "noop", "id": "\#(id)", "queue": "\#(queue)", "batch": "b"\#(due)}"#
      if due.isEmpty { try await fixture.run(job) } else { _ = try fixture.submit(job) }
    }
    let later = ids.enumerated().filter { $0.offset.isMultiple(of: 3) }.map(\.element)
    let even = ids.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
    let cases: [(JobSelection, [String])] = [
      (JobSelection(), ids), (JobSelection(batch: "b"), ids), (JobSelection(type: "noop"), ids),
      (JobSelection(states: [.scheduled]), later), (JobSelection(queue: "even"), even),
      (JobSelection(states: [.completed]), ids.filter { !later.contains($0) }),
      (JobSelection(states: [.completed, .scheduled]), ids),
      (JobSelection(states: [.completed, .scheduled, .held], queue: "even", type: "noop"), even),
    ]
    for (selection, expected) in cases {
      for order in JobOrder.allCases {
        for limit in [1, 5, 12] {
          let (pages, counts) = try self.pages(selection, fixture, of: limit, order: order)
          #expect(pages.joined().elementsEqual(order == .oldest ? expected : expected.reversed()), "\(selection)")
          #expect(pages.dropLast().allSatisfy { $0.count == limit })
          if selection.queue == nil { #expect(counts == [expected.count], "\(selection)") }
        }
      }
    }
    try await fixture.stop()
  }

  @Test("Files, texts and arguments are found, whatever the case and the state")
  func records() async throws {
    let fixture = try DaemonFixture(handlers: [ScriptedHandler("taking") { _ in .null }])
    try fixture.start()
    try await fixture.run(#"{"type": "taking", "id": "Order-1", "arguments": {"size": 3, "name": "x y"}}"#)
    _ = try fixture.submit(
      #"{"type": "taking", "id": "order-2", "arguments": {"size": 30, "deep": {"size": 3}}, "notBefore": "2199-01-01T00:00:00Z"}"#
    )
    func found(_ change: (inout RecordTest) -> Void) throws -> [String] {
      var selection = JobSelection()
      change(&selection.record)
      return try page(selection, fixture).ids
    }
    #expect(try found { $0.text = "ORDER" } == ["order-2", "Order-1"])
    #expect(try found { $0.text = "r-1" } == ["Order-1"])
    #expect(try found { $0.arguments = ["size": "3"] } == ["Order-1"])
    #expect(try found { $0.arguments = ["size": "3", "name": "x y"] } == ["Order-1"])
    #expect(try found { $0.arguments = ["size": "30"] } == ["order-2"])
    #expect(try found { $0.arguments = ["deep": #"{"size":3}"#] } == ["order-2"])
    #expect(try found { $0.arguments = ["none": "3"] } == [])
    let file = try #require(try fixture.record("Order-1") { $0.file })
    #expect(try found { $0.file = file } == ["Order-1"])
    #expect(try found { $0.text = file.uppercased() } == ["Order-1"])
    try await fixture.stop()
  }

  @Test(
    "What is no cursor of a list is refused",
    arguments: [
      "", "x", "bmV3ZXN0", "bmV3ZXN0L3gvMS8vYQ", "b2xkLzQvMS8vYQ", "bmV3ZXN0LzdmZjAwMDAwMDAwMDAwMDAvMS8vYQ", "%00",
    ])
  func badCursors(text: String) { #expect(JobCursor(text) == nil) }

  @Test("Jobs are counted by state, whichever states are asked for, and whether or not their records must be looked at")
  func counts() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    try await fixture.run(#"{"batch": "b", "jobs": [{"type": "noop"}, {"type": "noop", "id": "n"}]}"#)
    try await fixture.run(#"{"type": "noop", "id": "other"}"#)
    let due = #""notBefore": "2199-01-01T00:00:00Z""#
    _ = try fixture.submit(
      #"{"batch": "b", "jobs": [{"type": "noop", \#(due)}, {"type": "noop", \#(due), "id": "off"}]}"#)
    #expect(try await fixture.perform(.cancel(reason: "no"), on: "off") == .done)
    @Sendable func counts(_ selection: JobSelection) throws -> [JobState: Int] {
      let daemon = fixture.daemon
      return try ManagedObjectContext(parent: daemon.main, name: "test").performAndWait { context in
        try selection.counts(context, daemon.engine.unfinished).numbers
      }
    }
    let batch: [JobState: Int] = [.completed: 2, .scheduled: 1, .cancelled: 1]
    try await fixture.waitUntil { try counts(JobSelection(batch: "b")) == batch }
    #expect(try counts(JobSelection(states: [.running], batch: "b")) == batch)
    #expect(try counts(JobSelection(batch: "b", record: RecordTest(since: .distantPast))) == batch)
    #expect(try counts(JobSelection(batch: "none")) == [:])
    #expect(try counts(JobSelection(record: RecordTest(submitter: getuid() + 1))) == [:])
    try await fixture.stop()
  }

  @Test("Counting ends with its task, and says that there may be more", arguments: [false, true])
  func cancelledCount(looksAtRecords: Bool) async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    try await fixture.run(#"{"type": "noop", "id": "a"}"#)
    _ = try fixture.submit(#"{"type": "noop", "notBefore": "2199-01-01T00:00:00Z"}"#)
    let daemon = fixture.daemon
    let selection = JobSelection(record: looksAtRecords ? RecordTest(since: .distantPast) : RecordTest())
    @Sendable func counts() async throws -> JobCounts {
      let context = ManagedObjectContext(parent: daemon.main, name: "test")
      return try await context.perform { try selection.counts($0, daemon.engine.unfinished) }
    }
    #expect(try await counts() == JobCounts(numbers: [.completed: 1, .scheduled: 1]))
    let cancelled = Task {
      // Cancelled before it begins, whenever that is.
      withUnsafeCurrentTask { $0?.cancel() }
      return try await counts()
    }
    #expect(try await cancelled.value == JobCounts(numbers: looksAtRecords ? [:] : [.scheduled: 1], isAtLeast: true))
    try await fixture.stop()
  }

  @Test(
    "Many held jobs are listed page by page, however many others are over since, held by an operator or for their type",
    arguments: [false, true])
  func manyHeld(isOfType: Bool) async throws {
    let fixture = try DaemonFixture("[Jobs]\nUnknownTypes=hold")
    let count = JobListing.candidateLimit + 1
    let rest = isOfType ? #""type": "unknown""# : #""type": "noop", "notBefore": "2199-01-01T00:00:00Z""#
    let jobs = (0..<count).map { #"{"id": "h\#($0)", \#(rest)}"# }
    try fixture.start()
    _ = try fixture.submit(#"{"jobs": [\#(jobs.joined(separator: ","))]}"#)
    if !isOfType {
      let held = try await fixture.perform(.hold, onAll: JobSelection(states: [.scheduled]))
      #expect(held.counts == [.done: count])
    }
    let done = Array(repeating: #"{"type": "noop"}"#, count: 2_000).joined(separator: ",")
    try await fixture.run(#"{"jobs": [\#(done)]}"#)
    let daemon = fixture.daemon
    // No time at all is enough for a chunk, which must not be spent on others.
    let listing = JobListing(selection: JobSelection(states: [.held]), order: .newest, limit: 100, time: .zero)
    let found = try ManagedObjectContext(parent: daemon.main, name: "test").performAndWait {
      try listing.page($0, daemon.engine.unfinished)
    }
    #expect(found.jobs.count == 100 && found.count == JobCount(number: count))
    try await fixture.stop()
  }

  @Test("A command finds all jobs of its selection, page by page, and tells first of those that it did not change")
  func commands() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    // More final ones than are read at a time, and the one that can't be deleted comes last.
    let jobs = (0..<4_500).map { #"{"type": "noop", "id": "job-\#($0)"}"# }
    try await fixture.run(#"{"jobs": [\#(jobs.joined(separator: ","))]}"#)
    try await fixture.run(#"{"type": "noop", "id": "needed"}"#)
    _ = try fixture.submit(
      #"{"type": "noop", "id": "needing", "after": "needed", "notBefore": "2199-01-01T00:00:00Z"}"#)
    var selection = JobSelection(states: [.completed])
    let trial = try await fixture.perform(.delete, onAll: selection, isTrial: true)
    #expect(trial.matched == 4_501 && trial.counts.isEmpty && trial.told.count == 1_000)
    selection.record.text = "JOB-4"
    #expect(try await fixture.perform(.delete, onAll: selection, isTrial: true).matched == 611)
    selection.record.text = nil
    let outcome = try await fixture.perform(.delete, onAll: selection)
    #expect(outcome.matched == 4_501 && outcome.counts == [.done: 4_500, .notPossible: 1])
    #expect(outcome.told.count == 1_000 && outcome.told.first?.id == "needed")
    #expect(outcome.told.dropFirst().allSatisfy { $0.reply == .done })
    try await fixture.stop()
  }
}
