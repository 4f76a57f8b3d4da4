import HTTPService
import StatusPage

/// The page for browsers; Documentation/Page.md tells what it shows.
///
/// Its files have no secrets, and a browser has them before it can have a token: everybody gets them.
extension StatusService {
  static func addPage(to router: inout GuardedRouter) {
    router.on(.get, "/", needs: .nothing, as: .init("The page for browsers", .text("text/html; charset=utf-8"))) {
      request, _ in .now(Self.page(PageFile.index, request))
    }
    router.on(
      .get, "/page/:name", needs: .nothing,
      as: .init(
        "A file of the page", .text("text/css"), .text("text/javascript"), .text("image/svg+xml"), refusals: [404])
    ) { request, parameters in .now(Self.page(parameters["name"], request)) }
  }

  /// Scripts and styles come from here only, and nothing is loaded from or sent to anywhere else.
  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

  private static func page(_ name: String, _ request: HTTPRequest) -> HTTPResponse {
    guard let file = PageFile.all[name] else {
      return .failure(404, code: "not-found", message: "there is nothing at \(request.path)")
    }
    var response = HTTPResponse(headers: [
      // Asked for each time, so that a new release is never mixed with the files of the last one.
      "Cache-Control": "no-cache", "ETag": file.tag, "Vary": "Accept-Encoding", "Content-Security-Policy": policy,
      "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    ])
    if request.headers["If-None-Match"]?.contains(file.tag) == true {
      response.status = 304
      return response
    }
    response.headers["Content-Type"] = file.contentType
    response.body = file.body
    if let packed = file.packed, request.headers.takeGzip {
      response.headers["Content-Encoding"] = "gzip"
      response.body = packed
    }
    return response
  }
}
