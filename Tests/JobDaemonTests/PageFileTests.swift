import Configuration
import Foundation
import HTTPService
import ObjectGraph
import StatusPage
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("The files of the page")
struct PageFileTests {
  private let router: Router

  init() throws {
    let log = ChangeLog(
      ConfigurationBox(try Configuration.parse("", file: "test")),
      log: DaemonLog(journal: Journal(identifier: "test"), level: .error))
    var guarded = GuardedRouter(
      authorize: { right, request in
        right == .nothing
          ? .granted(request)
          : .refused(.failure(403, code: "forbidden", message: "a page must be there for everybody"))
      }, log: log)
    StatusService.addPage(to: &guarded)
    router = guarded.router
  }

  private func get(_ path: String, _ headers: HTTPHeaders = [:]) throws -> HTTPResponse {
    let target = try #require(HTTPTarget(path))
    guard case .now(let response) = router.reply(to: HTTPRequest(method: .get, target: target, headers: headers)) else {
      throw CancellationError()
    }
    return response
  }

  /// The addresses in a file: those of an attribute, and those that a script imports.
  private static func references(in text: String) -> Set<String> {
    let found = text.matches(of: /(?:href|src)="(\/page\/[^"]+)"|(?:from|import\()\s*'\.\/([^']+)'/)
    return Set(found.map { match in match.1.map(String.init) ?? "/page/\(match.2 ?? "")" })
  }

  /// Those of a namespace and of a text to read, which no browser asks for anything.
  private static let namedHosts: Set = ["www.w3.org", "json-schema.org"]

  @Test("Whatever a file names is there, of the right kind, and of no other host")
  func references() throws {
    var open: Set = ["/"]
    var seen: Set<String> = []
    while let path = open.popFirst() {
      seen.insert(path)
      let response = try get(path)
      #expect(response.status == 200, "\(path)")
      let text = String(decoding: response.body, as: UTF8.self)
      let kind = [
        "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml",
      ][path.split(separator: ".").last.map(String.init) ?? "", default: "text/html"]
      #expect(response.headers["Content-Type"]?.hasPrefix(kind) == true, "\(path)")
      open.formUnion(Self.references(in: text).subtracting(seen))
      let hosts = text.matches(of: /["'(]https?:\/\/([^\/"']+)/).map { String($0.1) }
      #expect(Set(hosts).isSubset(of: Self.namedHosts), "\(path) names \(hosts)")
      // What would turn the texts of jobs into elements.
      for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
        #expect(!text.contains(word), "\(path) has \(word)")
      }
    }
    #expect(seen.count == PageFile.all.count, "files that nothing names: \(Set(PageFile.all.keys).subtracting(seen))")
    #expect(try get("/page/none.js").status == 404)
  }

  @Test("A file that the browser has is not sent again, and all of them packed are small")
  func sizes() throws {
    var sent = 0
    for (name, file) in PageFile.all {
      let path = name == PageFile.index ? "/" : "/page/\(name)"
      let plain = try get(path)
      #expect(plain.headers["Content-Encoding"] == nil && plain.body == file.body)
      let packed = try get(path, ["Accept-Encoding": "gzip, deflate, br"])
      #expect(packed.headers["Content-Encoding"] == "gzip" && packed.headers["Vary"] == "Accept-Encoding")
      #expect(packed.body.prefix(2) == Data([0x1f, 0x8b]) && packed.body.count < file.body.count)
      sent += packed.body.count
      let tag = try #require(packed.headers["ETag"])
      let known = try get(path, ["If-None-Match": "\"other\", \(tag)"])
      #expect(known.status == 304 && known.body.isEmpty && known.headers["ETag"] == tag)
      #expect(try get(path, ["If-None-Match": "\"other\""]).status == 200)
    }
    #expect(sent < 150_000, "all files together take \(sent) bytes")
    #expect(Set(PageFile.all.values.map(\.tag)).count == PageFile.all.count)
  }

  @Test("A browser is told to run and to load nothing from elsewhere")
  func policy() throws {
    let headers = try get("/").headers
    let policy = try #require(headers["Content-Security-Policy"])
    #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self';"))
    #expect(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"))
    #expect(headers["X-Content-Type-Options"] == "nosniff" && headers["Referrer-Policy"] == "no-referrer")
  }
}
