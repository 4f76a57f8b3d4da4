import HTTPService
import Testing

@Suite("The router")
struct RouterTests {
  private let router = {
    var router = Router()
    router.on(.get, "/") { _, _ in .now(.text("root")) }
    router.on(.get, "/v1/jobs") { _, _ in .now(.text("list")) }
    router.on(.post, "/v1/jobs") { _, _ in .now(.text("submit")) }
    router.on(.get, "/v1/jobs/summary") { _, _ in .now(.text("summary")) }
    router.on(.get, "/v1/jobs/:id") { _, parameters in .now(.text("job " + parameters["id"])) }
    router.on(.post, "/v1/jobs/:id/retry") { _, parameters in .now(.text("retry " + parameters["id"])) }
    return router
  }()

  private func answer(_ method: String, _ target: String) throws -> HTTPResponse {
    let request = HTTPRequest(method: HTTPMethod(rawValue: method), target: try #require(HTTPTarget(target)))
    guard case .now(let response) = router.reply(to: request) else {
      throw HTTPTestError("the router answered later")
    }
    return response
  }

  @Test(
    "A request goes to the first route that fits its method and path",
    arguments: [
      ("GET", "/", "root"), ("GET", "/v1/jobs", "list"), ("HEAD", "/v1/jobs", "list"), ("POST", "/v1/jobs", "submit"),
      ("GET", "/v1/jobs/summary", "summary"), ("GET", "/v1/jobs/a%2Fb?x=1", "job a/b"),
      ("POST", "/v1/jobs/7/retry", "retry 7"),
    ])
  func found(method: String, target: String, expected: String) throws {
    let response = try answer(method, target)
    #expect(response.status == 200)
    #expect(String(decoding: response.body, as: UTF8.self) == expected)
  }

  @Test("An unknown path is not found", arguments: ["/v1", "/v1/jobs/", "/v1//jobs", "/v1/jobs/7/x", "/V1/jobs", "//"])
  func notFound(target: String) throws {
    #expect(try answer("GET", target).status == 404)
  }

  @Test(
    "A known path with another method names those allowed",
    arguments: [
      ("DELETE", "/v1/jobs", "GET, HEAD, POST"), ("GET", "/v1/jobs/7/retry", "POST"), ("BREW", "/", "GET, HEAD"),
    ])
  func methodNotAllowed(method: String, target: String, allowed: String) throws {
    let response = try answer(method, target)
    #expect(response.status == 405)
    #expect(response.headers["allow"] == allowed)
  }
}
