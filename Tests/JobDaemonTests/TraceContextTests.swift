import Foundation
import HTTPService
import Jobs
import Testing

@testable import JobDaemon

@Suite("Traces of jobs")
struct TraceContextTests {
  private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  @Test(
    "What the standard calls valid is taken, and nothing else",
    arguments: [
      (parent, true), ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", true),
      ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-09", true), (parent + "-more", false),
      ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
      ("00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
      ("00-00000000000000000000000000000000-b7ad6b7169203331-01", false),
      ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false),
      ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", false), ("", false), ("00-x", false),
      ("0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
      ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-a b", false),
    ])
  func parents(text: String, isValid: Bool) {
    #expect((TraceContext(parent: text) != nil) == isValid)
    #expect((TraceContext(headers: ["traceparent": text]) != nil) == isValid)
  }

  @Test(
    "A state that isn't valid is left out, and its trace stays",
    arguments: [
      ("a=1", true), ("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7", true), ("a=1, b=2 ,,", true),
      ("fw529a3039@dt=x y", true),
      ("", true), ("A=1", false), ("a", false), ("a=", false), ("a=b=c", false), ("a=é", false),
      (String(repeating: "a=1,", count: 33), false), ("a=" + String(repeating: "1", count: 511), false),
    ])
  func states(text: String, isValid: Bool) {
    #expect((TraceContext(parent: Self.parent, state: text)?.state == text) == isValid)
    let headers: HTTPHeaders = ["Traceparent": Self.parent, "TraceState": text]
    #expect(TraceContext(headers: headers)?.parent == Self.parent)
    #expect((TraceContext(headers: headers)?.state == text) == isValid)
  }

  @Test("Headers that come twice: states are one list, parents are none")
  func twice() {
    let headers: HTTPHeaders = ["traceparent": Self.parent, "tracestate": "a=1", "Tracestate": "b=2"]
    #expect(TraceContext(headers: headers)?.state == "a=1,b=2")
    let ambiguous: HTTPHeaders = ["traceparent": Self.parent, "Traceparent": Self.parent]
    #expect(TraceContext(headers: ambiguous) == nil)
  }

  @Test("Jobs of a file have its trace unless they name their own, and a callback has that of the first one")
  func files() throws {
    let other = Self.parent.replacing("0af7", with: "1bf7")
    func traces(_ text: String) throws -> [String?] {
      try JobFile(Data(text.utf8)).jobs.map { $0.trace.map { $0.parent + ($0.state ?? "") } }
    }
    let of = #""traceparent": "\#(Self.parent)""#
    #expect(try traces(#"{"type": "noop", \#(of), "tracestate": "a=1"}"#) == [Self.parent + "a=1"])
    #expect(
      try traces(
        #"{\#(of), "jobs": [{"type": "noop"}, {"type": "noop", "traceparent": "\#(other)"}], "callback": {"type": "noop"}}"#
      )
        == [Self.parent, other, Self.parent])
    #expect(
      try traces(#"{"jobs": [{"type": "noop"}, {"type": "noop", \#(of)}], "callback": {"type": "noop"}}"#)
        == [nil, Self.parent, Self.parent])
    for (text, message) in [
      (
        #"{"type": "noop", "traceparent": "00-1"}"#,
        "line 1: \"traceparent\": must be a traceparent of the W3C, such as"
      ),
      (#"{"type": "noop", "tracestate": "a=1"}"#, "can't stand without \"traceparent\""),
      (#"{"type": "noop", \#(of), "tracestate": "A"}"#, "must be a tracestate of the W3C"),
    ] {
      let error = #expect(throws: JobFileError.self) { try JobFile(Data(text.utf8)) }
      #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }
  }

  @Test("A record keeps the trace")
  func records() throws {
    var job = JobSpecification(type: "noop")
    #expect(JobSpecification.trace(inOptions: job.options) == nil)
    job.trace = TraceContext(parent: Self.parent, state: "a=1")
    #expect(JobSpecification.trace(inOptions: job.options) == job.trace)
    var read = JobSpecification(type: "noop")
    try read.readOptions(try #require(job.options))
    #expect(read.trace == job.trace)
  }
}
