import Foundation
import JSONText
import Jobs
import Testing

@testable import JobDaemon

@Suite("Templates of hot folders")
struct JobTemplateTests {
  private let values = TemplateValues(path: "/srv/in/a/b.tar.gz", relative: "a/b.tar.gz", file: "b.tar.gz")

  private func template(_ text: String, queue: String? = nil) throws(JobFileError) -> JobTemplate {
    try JobTemplate(Data(text.utf8), queue: queue) { _ throws(JobFileError) in }
  }

  private func problem(_ text: String) -> String? {
    do throws(JobFileError) {
      _ = try template(text)
      return nil
    } catch { return error.description }
  }

  @Test("Placeholders are replaced in strings, however deep")
  func placeholders() throws {
    let text = #"""
      // The operator's.
      {type: 'noop', arguments: {a: "{path}", b: ["{name}-{file}", {c: "x{relative}y"}], d: "{{path} }", "{e": 1}}
      """#
    let job = try JSONValue(parsing: template(text).data(for: values, id: "in-1"))
    #expect(job["id"] == "in-1" && job["type"] == "noop")
    #expect(
      job["arguments"] == [
        "a": "/srv/in/a/b.tar.gz", "b": ["b.tar-b.tar.gz", ["c": "xa/b.tar.gzy"]], "d": "{path} }", "{e": 1,
      ])
  }

  @Test("A file's name can end no string and begin no key", arguments: ["\",\"x\":\"", "\\", "{path}", "a\nb", "}}"])
  func hostileNames(name: String) throws {
    let values = TemplateValues(path: "/in/" + name, relative: name, file: name)
    let job = try JSONValue(
      parsing: template(#"{type: "noop", arguments: {a: "{file}"}}"#).data(for: values, id: "1"))
    #expect(job["arguments"] == ["a": .string(name)])
    #expect(job.object?.keys == ["type", "arguments", "id"])
  }

  @Test("The name is what stands before the last dot")
  func names() {
    for (file, name) in [("a.b.c", "a.b"), ("a", "a"), ("a.", "a")] {
      #expect(TemplateValues(path: "", relative: "", file: file)[.name] == name)
    }
  }

  @Test("The folder's queue is for jobs that name none")
  func queue() throws {
    let plain = try JSONValue(parsing: template(#"{type: "noop"}"#, queue: "q").data(for: values, id: "1"))
    let own = try JSONValue(parsing: template(#"{type: "noop", queue: "own"}"#, queue: "q").data(for: values, id: "1"))
    #expect(plain["queue"] == "q" && own["queue"] == "own")
  }

  @Test(
    "A mistake is told with its line",
    arguments: [
      ("{type: 'noop',\narguments: {a: '{nam}'}}", "line 2: \"arguments.a\": has the unknown placeholder {nam}; "),
      ("{type: 'noop', arguments: {a: 'x{'}}", "line 1: \"arguments.a\": has the unknown placeholder {; "),
      ("{jobs: []}", "line 1: \"jobs\": a template holds one job"),
      ("{type: 'noop',\n\nid: 'x'}", "line 3: \"id\": a template has no ID"),
      ("{type: 'noop',\ntipe: 1}", "line 2: \"tipe\": is no key of a job"),
      ("[]", "line 1: a template holds one job, not an array"),
      ("{", "line 1: "),
    ])
  func mistakes(text: String, expected: String) throws {
    let message = try #require(self.problem(text))
    #expect(message.hasPrefix(expected), "\(message)")
  }

  @Test("The sample is a template")
  func sample() throws {
    let url = URL(filePath: #filePath).appending(path: "../../../etc/folders.d/scans.json5.sample")
    let sample = try JobTemplate(try Data(contentsOf: url.standardized), queue: nil) { _ throws(JobFileError) in }
    let job = try JSONValue(parsing: sample.data(for: values, id: "1"))
    #expect(job["arguments"]?["outputs"]?.array?.first?["path"] == "/srv/scans/small/b.tar-{width}.webp")
  }
}
