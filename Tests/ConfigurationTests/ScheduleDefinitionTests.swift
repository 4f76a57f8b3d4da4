import Foundation
import TestSupport
import Testing
import Timetable

@testable import Configuration

@Suite("Schedule definitions")
struct ScheduleDefinitionTests {
  private static let least = "[Schedule]\nOnCalendar=daily UTC\nJob=a.json\n"

  private func parsed(_ text: String, file: String = "/etc/bobbin/schedules.d/nightly.conf") throws
    -> ScheduleDefinition
  {
    let (definition, problems) = ScheduleDefinition.parse(Array(text.utf8), file: file)
    try #require(problems.isEmpty, "\(problems)")
    return definition
  }

  private func problems(_ text: String) -> [String] {
    ScheduleDefinition.parse(Array(text.utf8), file: "a.conf").1.map(\.description)
  }

  @Test("A time and a job file are enough; everything else has its default")
  func least() throws {
    let definition = try parsed(Self.least)
    #expect(definition.name == "nightly")
    #expect(definition.jobFile == "/etc/bobbin/schedules.d/a.json")
    #expect(definition.rule.times.map(\.description) == ["*-*-* 00:00:00 UTC"])
    #expect(definition.rule.interval == nil && !definition.rule.isPersistent)
    #expect(definition.rule.randomDelay == 0 && definition.rule.overlap == .skip)
  }

  @Test("Every key is read, and OnCalendar= may be repeated")
  func everyKey() throws {
    let definition = try parsed(
      "[Schedule]\nOnCalendar=daily UTC\nOnCalendar=*:30 UTC\nEvery=15min\nPersistent=yes\nRandomizedDelaySec=90\n"
        + "Overlap=queue\nJob=/srv/b.json\n")
    #expect(definition.rule.times.count == 2 && definition.rule.interval == 900_000)
    #expect(definition.rule.isPersistent && definition.rule.randomDelay == 90_000)
    #expect(definition.rule.overlap == .queue && definition.jobFile == "/srv/b.json")
    #expect(Set(definition.assignments.keys) == Set(ScheduleDefinition.keys.map(\.name)))
    #expect(try parsed(Self.least + "OnCalendar=\nEvery=1h\n").rule.times.isEmpty)
  }

  @Test(
    "A mistake is told with its line and what would be right",
    arguments: [
      ("[Schedule]\nJob=a.json\n", "a.conf: [Schedule] OnCalendar or Every: is missing, but required"),
      ("[Schedule]\nEvery=1h\n", "a.conf: [Schedule] Job: is missing, but required"),
      (
        "[Schedule]\nEvery=1ms\nJob=a\n",
        "a.conf:2: [Schedule] Every=1ms: expected a time span from 1s to 3660d, such as 250ms, 5s or 1h 30min"
      ),
      (
        "[Schedule]\nOnCalendar=daily\nJob=a\nOverlap=wait\n",
        "a.conf:4: [Schedule] Overlap=wait: expected one of skip, queue, allow"
      ),
      (
        "[Schedule]\nOnCalendar=daily\nJob=a\nPersistant=yes\n",
        "a.conf:4: [Schedule] Persistant=yes: unknown key; did you mean Persistent?"
      ),
      (
        "[Schedule]\nEvery=5s\nJob=a\nOnUnitActiveSec=5s\n",
        "a.conf:4: [Schedule] OnUnitActiveSec=5s: unknown key; here it is Every="
      ),
      (
        "[Timer]\nEvery=1h\n[Schedule]\nEvery=1h\nJob=a\n",
        "a.conf:1: [Timer]: unknown section; a schedule's file has the section [Schedule]"
      ),
    ])
  func mistakes(text: String, problem: String) { #expect(problems(text) == [problem]) }

  @Test("An expression that is none is told with its place")
  func badExpression() {
    let problems = problems("[Schedule]\nOnCalendar=Mon..Foo 3:00\nJob=a\n")
    #expect(problems.count == 1)
    #expect(problems.first?.hasPrefix("a.conf:2: [Schedule] OnCalendar=Mon..Foo 3:00: at character ") == true)
  }

  @Test("A file whose name is no schedule's is refused")
  func badName() throws {
    let folder = try TemporaryFolder()
    try folder.write(Self.least, to: "schedules.d/a b.conf")
    #expect(throws: ConfigurationError.self) { try ScheduleDefinition.load(folder: folder.path + "/schedules.d") }
  }

  @Test("The sample has every key, and those that are commented out have their defaults")
  func sample() throws {
    let url = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../etc/schedules.d/schedule.conf.sample")
    let text = try String(contentsOf: url.standardized, encoding: .utf8)
    let keys = text.split(separator: "\n").compactMap { line in
      line.firstMatch(of: /^#?([A-Z][A-Za-z]+)=/).map { String($0.1) }
    }
    #expect(keys == ScheduleDefinition.keys.map(\.name))
    let lines = text.split(separator: "\n").map { $0.contains(/^#[A-Z]/) ? $0.dropFirst() : $0 }
    var sample = try parsed(lines.joined(separator: "\n"))
    let interval = sample.rule.interval
    sample.rule.interval = nil
    let plain = try parsed(text)
    #expect(interval == 900_000 && sample.rule == plain.rule && sample.jobFile == plain.jobFile)
  }
}
