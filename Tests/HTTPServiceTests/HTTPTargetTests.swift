import HTTPService
import Testing

@Suite("Request targets")
struct HTTPTargetTests {
  @Test(
    "A path is split before its components are decoded",
    arguments: [
      ("/", []), ("/v1/jobs", ["v1", "jobs"]), ("/v1/jobs/a%2Fb", ["v1", "jobs", "a/b"]),
      ("/%C3%BC%20x", ["ü x"]), ("/a//b/", ["a", "", "b", ""]), ("/a+b", ["a+b"]), ("/%2525", ["%25"]),
      ("/...", ["..."]),
    ] as [(String, [String])])
  func components(target: String, expected: [String]) throws {
    #expect(try #require(HTTPTarget(target)).components == expected)
  }

  @Test(
    "A malformed or ambiguous target is refused",
    arguments: [
      "", "*", "v1", "http://host/", "/a b", "/%", "/%4", "/%zz", "/%+1", "/%00", "/a%00b", "/%ff", "/%C3", "/..",
      "/v1/../etc", "/v1/%2e%2E/etc", "/.", "/%2e", "/a#b", "/\u{7f}", "/ü", "/a?x=%", "/a?%00=1", "/a?x=%ff",
      "/%EF%BC", "/\n",
    ])
  func malformed(target: String) {
    #expect(HTTPTarget(target) == nil)
  }

  @Test("Query items are decoded, keep their order and may repeat or lack a value")
  func query() throws {
    let target = try #require(HTTPTarget("/v1/jobs?state=a%26b&x=1+2%2B3&wait&state=&=v&&a=b=c?d"))
    #expect(target.path == "/v1/jobs")
    #expect(target.queryItems.map(\.name) == ["state", "x", "wait", "state", "", "a"])
    #expect(target.queryItems.map(\.value) == ["a&b", "1 2+3", "", "", "v", "b=c?d"])
  }
}
