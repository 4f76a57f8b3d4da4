import Foundation
import Jobs
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon
@testable import JobSchedule

@Suite("Lines of jobs")
struct JobLinesTests {
  /// Reads lines, and returns the IDs of the jobs, or what is wrong with them.
  private func read(_ lines: [String]) -> [String] {
    let ids = LineIDs()
    var reader = JobLines(ids)
    return lines.enumerated().compactMap { index, line in
      do throws(JobFileError) {
        return try reader.next(Array(line.utf8)[...], line: index + 1, at: .now) { (job) throws(JobFileError) in
          if job.type == "bad" { throw JobFileError("is bad", key: "type") }
        }.map { $0.id ?? "-" }
      } catch {
        return error.description
      }
    }
  }

  @Test("Each line is a job as in a document; blank lines are none")
  func good() {
    #expect(
      read([
        #"{"type": "noop", "id": "a"}"#, "", " \r", "{type: 'noop', /* JSON5 */ after: 'a',}\r", #"{"type": "noop"}"#,
      ])
        == ["a", "-", "-"])
  }

  @Test("What is wrong with a line is told with its number and its key; the lines behind it are read")
  func bad() {
    #expect(
      read([
        #"{"type": "bad"}"#, "[]", #"{"type": "noop", "delay": 0}"#, #"{"jobs": [{"type": "noop"}]}"#,
        #"{"type": "noop", "id": "a", "replace": true}"#, #"{"type": "noop"}"#,
      ])
        == [
          #"line 1: "type": is bad"#, "line 2: a job is an object, not an array",
          #"line 3: "delay": must be a time span of more than 0 and at most 10 years, such as "250ms", "30s", "2m" or "1h 30min""#,
          #"line 4: "jobs": is a list of jobs; in this file each line is one job"#,
          #"line 5: "replace": is not for files with one job on each line"#, "-",
        ])
  }

  @Test("A line waits for lines before it and for jobs of other files, so that there is no circle")
  func order() {
    #expect(
      read([
        ##"{"type": "noop", "id": "#a", "after": "elsewhere"}"##, ##"{"type": "noop", "id": "b", "afterAny": "#a"}"##,
        ##"{"type": "noop", "after": ["b", "#later"]}"##, #"{"type": "noop", "id": "c", "after": "c"}"#,
        #"{"type": "noop", "id": "elsewhere"}"#, ##"{"type": "noop", "id": "#a"}"##,
      ]) == [
        "#a", "b", ##"line 3: "after": no line before this one has the ID "#later""##,
        #"line 4: "after": no line before this one has the ID "c""#,
        #"line 5: "id": a line before this one waits for "elsewhere"; jobs wait for those on lines before theirs"#,
        ##"line 6: "id": the ID "#a" occurs twice in the file"##,
      ])
  }

  @Test(
    "Lines are found wherever pieces end, and those that are too long are told apart",
    arguments: [0, 1, 4, 200, 300_000])
  func reading(length: Int) throws {
    let folder = try TemporaryDirectory()
    let path = folder.path("lines")
    let texts = ["", String(repeating: "x", count: length), "z", String(repeating: "y", count: length + 1), "last"]
    try Data(texts.joined(separator: "\n").utf8).write(to: URL(filePath: path))
    var reader = LineReader(try .open(path), limit: max(4, length))
    var found: [String?] = []
    while let line = try reader.next() {
      if case .text(let bytes) = line {
        found.append(String(decoding: bytes, as: UTF8.self))
      } else {
        found.append(nil)
      }
    }
    #expect(found == texts.map { $0.utf8.count > max(4, length) ? nil : $0 })
  }

  @Test(
    "Of many failures of a file the first thousand lines are kept, in the jobs' order, and the number of the others")
  func failures() {
    var list = FailureList()
    for order in (0..<5_000).reversed() { list.add("\(order)", order: Int64(order)) }
    let texts = list.texts
    #expect(texts.count == 1_000 && texts.prefix(999).elementsEqual((0..<999).map { "\($0)" }))
    #expect(texts.last == "and 4001 more")
    list = FailureList()
    for order in [2, 0, 1] { list.add("\(order)", order: Int64(order)) }
    #expect(list.texts == ["0", "1", "2"])
  }
}
