import Foundation
import HTTPService
import Testing

/// The built bobbinctl against a server that answers in replies of a few objects, as large ones are answered.
@Suite("bobbinctl query")
struct QueryTests {
  private func daemon() throws -> TestDaemon {
    try TestDaemon { request in
      let first = Int(request.query("cursor") ?? "0") ?? 0
      let limit = Int(request.query("limit") ?? "100") ?? 100
      let numbers = first..<min(5, first + min(2, limit))
      let objects = numbers.map { #"{"id":"Reading/\#($0)","number":\#($0)}"# }.joined(separator: ",")
      let next = numbers.upperBound == 5 ? "null" : #""\#(numbers.upperBound)""#
      return .now(.json(data: Data(#"{"objects":[\#(objects)],"next":\#(next)}"#.utf8)))
    }
  }

  @Test("A table has as many objects as were asked for, however few fit into a reply")
  func pages() async throws {
    let daemon = try daemon()
    let all = try await daemon.run("query", "Reading")
    #expect(all.code == 0 && all.lines.count == 6 && all.errors.isEmpty, "\(all)")
    let some = try await daemon.run("query", "Reading", "--limit", "3")
    #expect(some.lines.count == 4)
    #expect(some.errors == "bobbinctl: the first 3 are shown; --limit shows more, --csv and --ndjson all\n")
    #expect(daemon.requests.last == "GET /v1/objects/Reading?limit=1&cursor=2")
  }
}
