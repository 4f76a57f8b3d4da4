import Configuration
import Foundation
import JSONText
import Jobs
import ObjectGraph
import SystemSupport
import Testing

@testable import JobDaemon

/// A second type.
private struct OtherHandler: JobHandler {
  let type = "other"

  func validate(_ arguments: JSONValue) {}
  func run(_ execution: JobExecution) async -> JSONValue { .null }
}

@Suite("Admission")
struct AdmissionTests {
  /// What a refusal says of an ID of one's own.
  private static let cure = ##", or replace that job: "replace": true, or `bobbinctl submit --replace`"##

  private let fixture: WriterFixture
  private let admission: Admission

  init() throws {
    fixture = try WriterFixture("FlushIntervalSec=1h")
    admission = Admission(
      main: fixture.main, handlers: HandlerTable([NoopHandler(), OtherHandler()]), scheduler: fixture.scheduler,
      policy: JobPolicy(configuration: ConfigurationBox(Configuration())), spool: "a:/spool")
  }

  private func candidate(_ name: FileName, _ text: String, by user: UInt32 = 7) throws -> AdmissionCandidate {
    let status = try Directory(path: "/").status()
    let file = ClaimedFile(name: name, data: Data(text.utf8), submitter: user, status: status, birthTime: 5)
    return AdmissionCandidate(file: file, contents: try admission.parse(file))
  }

  /// Admits files and puts their jobs into the schedule, as the intake does.
  private func admit(_ candidates: AdmissionCandidate...) throws -> [AdmittedFile] {
    let admitted = try admission.admit(candidates).map { try $0.get() }
    fixture.scheduler.add(admitted.flatMap(\.jobs))
    return admitted
  }

  private func noop(_ id: String) -> String { "{\"type\": \"noop\", \"id\": \"\(id)\"}" }

  @Test("Jobs are inserted once, whether an ID repeats in one batch or in a later one")
  func repeated() throws {
    let first = try admit(try candidate("a", noop("x")), try candidate("b", noop("x")))
    #expect(first.map { $0.jobs.map(\.name) } == [["x"], []])
    #expect(first.map(\.duplicatesOfLive.count) == [0, 1])
    let second = try admit(try candidate("c", "{\"jobs\": [\(noop("x")), \(noop("y"))]}"))
    #expect(second.map { $0.jobs.map(\.name) } == [["y"]])
    #expect(second.map(\.duplicatesOfLive) == [[first[0].jobs[0].id]])
    #expect(second.map(\.ids) == [["x", "y"]])
    let count = try fixture.main.performAndWait { try $0.count(for: FetchRequest<Job>()) }
    #expect(count == 2)
    #expect(fixture.scheduler.read { schedule, _ in schedule.count } == 2)
  }

  @Test("A file in cur/ is known again under the ID that it had in a fleet, and only that very file")
  func moved() throws {
    let data = Data(#"{"type": "noop"}"#.utf8)
    func candidate(_ name: FileName) throws -> AdmissionCandidate {
      let status = try Directory(path: "/").status()
      let file = ClaimedFile(name: name, data: data, submitter: 7, status: status, birthTime: 5)
      var candidate = AdmissionCandidate(file: file, contents: try admission.parse(file))
      candidate.isTakenUp = true
      return candidate
    }
    let (known, stranger) = (try candidate("x.json"), try candidate("y.json"))
    let id = known.file.defaultID(.ofSpool("a:/spool"))
    try fixture.main.performAndWait { context in
      for (file, name) in [(known.file, "x.json"), (stranger.file, "other.json")] {
        let job = Job(context: context)
        (job.id, job.type, job.file, job.spool) = (file.defaultID(.ofSpool("a:/spool")), "noop", name, "a:/spool")
        job.currentState = .completed
      }
      try context.save()
    }
    let admitted = try admit(known, stranger)
    #expect(admitted.map(\.ids) == [[id], [stranger.file.defaultID(.short)]])
    #expect(admitted.map(\.jobs.count) == [0, 1])
  }

  @Test("A job that is over is not run again; its failure is told again")
  func over() async throws {
    _ = try fixture.finishedJob("done")
    let child = ManagedObjectContext(parent: fixture.main, name: "failing")
    try await child.perform { context in
      let job = Job(context: context)
      job.id = "bad"
      job.failure = "for a reason"
      job.currentState = .discarded
      try context.save()
    }
    await fixture.merger.mergeAndWait()
    let admitted = try admit(try candidate("a", "{\"jobs\": [\(noop("done")), \(noop("bad"))]}"))
    #expect(admitted.map { $0.jobs.count } == [0])
    #expect(admitted.map(\.objectIDs.count) == [2])
    #expect(admitted.map(\.earlierFailures) == [["bad: for a reason"]])
  }

  @Test("An ID of another user's job, or of one of another type, is refused with the whole file, over or not")
  func foreign() throws {
    let first = try admission.admit([
      try candidate("a", noop("x")), try candidate("b", noop("x"), by: 8),
      try candidate("c", "{\"jobs\": [\(noop("y")), \(noop("x"))]}", by: 0),
      try candidate("d", #"{"type": "other", "id": "x"}"#), try candidate("e", noop("x")),
    ])
    let another = AdmissionRefusal(reason: #"the ID "x" is that of another user's job; choose another one"#)
    #expect(
      first.map { result in if case .failure(let refusal) = result { refusal } else { nil } } == [
        nil, another, another,
        AdmissionRefusal(
          reason: #"the ID "x" is that of a job of the type "noop", not "other"; choose another one"# + Self.cure),
        nil,
      ])
    let ids = try fixture.main.performAndWait { try $0.fetch(FetchRequest<Job>()).map(\.id) }
    #expect(ids == ["x"])
    try fixture.main.performAndWait { context in
      for job in try context.fetch(FetchRequest<Job>()) { job.currentState = .completed }
    }
    #expect(throws: AdmissionRefusal.self) {
      _ = try admission.admit([try candidate("f", noop("x"), by: 8)]).map { try $0.get() }
    }
    #expect(try admission.admit([try candidate("g", noop("x"))]).map { try $0.get().jobs.count } == [0])
  }

  @Test("A known ID with other arguments is refused, and what differs is told; the job's own file is not")
  func otherArguments() throws {
    func job(_ arguments: String) -> String { #"{"type": "other", "id": "x", "arguments": \#(arguments)}"# }
    let first = #"{"a": 1, "b": {"c": 2.0, "d": [1]}}"#
    let same = #"{"b": {"d": [1], "c": 2.0}, "a": 1}"#
    let results = try admission.admit([
      try candidate("a", job(first)), try candidate("b", job(same)),
      try candidate("c", job(#"{"a": "one", "b": {"c": 2.0, "d": [1]}, "e": null}"#)), try candidate("d", job("{}")),
    ])
    #expect(try results[1].get().repeated == Set(try results[0].get().objectIDs))
    #expect(try results[0].get().repeated.isEmpty)
    let start = #"the ID "x" is that of a job with other arguments ("a" is 1 there and "#
    #expect(
      results.map { result in if case .failure(let refusal) = result { refusal.reason } else { nil } } == [
        nil, nil, start + #""one" here, "e" is nothing there and null here); choose another one"# + Self.cure,
        start + #"nothing here, "b" differs); choose another one"# + Self.cure,
      ])
    var earlier = try [candidate("a", job("{}")), candidate("e", job("{}"))]
    for index in earlier.indices { earlier[index].isTakenUp = true }
    let again = try admission.admit(earlier)
    #expect(try again[0].get().repeated.count == 1)
    #expect(throws: AdmissionRefusal.self, "it waited in the spool while another file took the ID") {
      try again[1].get()
    }
  }

  @Test("Jobs that wait for unknown ones are told of, also if these come later in the same file")
  func unknown() throws {
    func job(_ id: String, _ more: String) -> String { #"{"type": "noop", "id": "\#(id)", \#(more)}"# }
    let text = [
      job("a", #""after": ["b", "never"]"#), job("b", #""afterAny": "nobody""#), job("c", #""after": "a""#),
    ].joined(separator: ",")
    let file = try admission.admit([try candidate("f", "{\"jobs\": [\(text)]}")])[0].get()
    #expect(file.unknown == [file.objectIDs[0]: ["never"], file.objectIDs[1]: ["nobody"]])
    // Whoever repeats them is not told once more.
    #expect(try admission.admit([try candidate("g", "{\"jobs\": [\(text)]}")])[0].get().unknown.isEmpty)
  }

  @Test("The daemon's own files have IDs that tell the type of their jobs, and no two the same")
  func sentIDs() throws {
    let two = #"{"jobs": [{"type": "noop"}, {"type": "other"}]}"#
    let ids = try [#"{"type": "noop"}"#, #"{"type": "noop"}"#, two].flatMap { text in
      try candidate(Submitter.fileName(for: 7), text).jobs(.short).map { $0.id ?? "" }
    }
    #expect(Set(ids).count == 4)
    #expect(ids[0].wholeMatch(of: /noop-[0-9a-z]{6}/) != nil && ids[1].wholeMatch(of: /noop-[0-9a-z]{6}/) != nil)
    #expect(ids[2].wholeMatch(of: /jobs-[0-9a-z]{6}\.1/) != nil, "\(ids[2])")
    #expect(
      try candidate("photo.json", #"{"type": "noop"}"#).jobs(.ofSpool("a:/s")).first?.id?.hasPrefix("photo-") == true)
  }

  @Test("A short ID that another job has is not taken, and each file is known again by its own")
  func shortIDs() throws {
    func dropped(_ name: FileName) throws -> AdmissionCandidate { try candidate(name, #"{"type": "noop"}"#) }
    let (first, second, third) = (try dropped("x.json"), try dropped("y.json"), try dropped("z.json"))
    _ = try admit(try candidate("a", noop(first.file.defaultID(.short))))
    // An older release knew the file by its long ID.
    _ = try admit(try candidate("b", noop(third.file.defaultID(.long))))
    let ids = [first.file.defaultID(.long), second.file.defaultID(.short), third.file.defaultID(.long)]
    let admitted = try admit(first, second, third)
    #expect(admitted.flatMap(\.ids) == ids)
    #expect(admitted.map(\.jobs.count) == [1, 1, 0])
    let again = try admit(try dropped("x.json"), try dropped("y.json"), try dropped("z.json"))
    #expect(again.flatMap(\.ids) == ids)
    #expect(again.map(\.repeated.count) == [1, 1, 1])
  }

  @Test("A file replaces a known job once, and one that made it never, however often they come")
  func replacements() throws {
    func file(_ name: FileName, _ more: String = "") throws -> AdmissionCandidate {
      try candidate(name, #"{"type": "other", "id": "x", "replace": true\#(more)}"#)
    }
    let made = try admit(try file("a"))[0]
    #expect(made.jobs.count == 1 && made.replacements.isEmpty)
    let again = try admit(try file("a"))[0]
    #expect(again.repeated.count == 1 && again.replacements.isEmpty)
    let replaced = try admit(try file("b"), try file("a", #", "priority": 1"#), try file("a"))
    #expect(replaced.map(\.replacements.count) == [1, 1, 0], "another file, other content, the first once more")
    #expect(replaced.map(\.jobs.count) == [0, 0, 0] && replaced[0].replaced == Set(made.objectIDs))
    // One whose jobs are over has nothing to replace any more.
    var over = try file("c")
    over.isOver = true
    #expect(try admit(over)[0].replacements.isEmpty)
  }

  @Test("Names that begin with # belong to their file: two files may have the same, and each has jobs of its own")
  func localNames() throws {
    let text = ##"{"jobs": [{"type": "noop", "id": "#b", "after": "#a"}, {"type": "noop", "id": "#a"}]}"##
    let files = try admission.admit([try candidate("f", text), try candidate("g", text)]).map { try $0.get() }
    #expect(files.map(\.jobs.count) == [2, 2])
    #expect(files.map(\.unknown.count) == [0, 0])
    #expect(Set(files.flatMap(\.ids)).count == 4)
    #expect(files.flatMap(\.ids).map { String($0.suffix(2)) } == ["#b", "#a", "#b", "#a"])
    for file in files {
      #expect(file.jobs[0].blockers.contains { if case .name = $0.subject { true } else { false } })
      #expect(file.ids[0].dropLast(2) == file.ids[1].dropLast(2))
    }
    #expect(throws: JobFileError.self) { try candidate("h", ##"{"type": "noop", "after": "#a"}"##) }
  }

  @Test("Of one file, too, only the first job has a unique key")
  func uniqueInFile() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    let jobs = ["a", "b"].map { #"{"type": "noop", "id": "\#($0)", "unique": "u"}"# }.joined(separator: ",")
    try await fixture.run("{\"jobs\": [\(jobs)]}")
    #expect(try fixture.record("a") { $0.currentState } == .completed)
    #expect(try fixture.record("b") { $0.currentState } == .cancelled)
    #expect(
      try fixture.record("b") { $0.failure } == "another unfinished job has the unique key \"u\"")
    try await fixture.stop()
  }

  @Test("A job that needs a failed one is final at once; one that only waits for its end runs")
  func afterFailure() async throws {
    let fixture = try DaemonFixture(handlers: [ScriptedHandler("fails") { _ in throw JobFailure("no") }])
    try fixture.start()
    try await fixture.run(#"{"type": "fails", "id": "f"}"#)
    try await fixture.run(#"{"type": "noop", "id": "strict", "after": "f"}"#)
    try await fixture.run(#"{"type": "noop", "id": "lenient", "afterAny": "f"}"#)
    #expect(try fixture.record("strict") { $0.currentState } == .cancelled)
    #expect(
      try fixture.record("strict") { $0.failure } == "the job \"f\", which must be completed before it, is discarded")
    #expect(try fixture.record("strict") { $0.attempt } == 0)
    #expect(try fixture.record("lenient") { $0.currentState } == .completed)
    try await fixture.stop()
  }

  @Test("A job that would wait for one that waits for it is over at once, and so is the other with it")
  func circle() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    let first = try fixture.submit(#"{"type": "noop", "id": "a", "after": "b"}"#)
    let second = try fixture.submit(#"{"type": "noop", "id": "b", "after": "a"}"#)
    try await fixture.waitForRelease(of: first + second)
    #expect(try fixture.record("b") { $0.failure } == "it waits for a job that waits for it")
    #expect(try fixture.record("a") { $0.currentState } == .cancelled)
    try await fixture.stop()
  }
}
