/// Finds the handler for a method and a path; the first route added wins where several match.
///
/// HEAD is answered by GET's handler (the server leaves the body out). A path that no route knows gives 404, a path
/// known for other methods 405 with an Allow header. Finding a route costs time linear in their number.
package struct Router: Sendable {
  package typealias Handler = @Sendable (HTTPRequest, RouteParameters) -> HTTPReply

  private struct Route: Sendable {
    let method: HTTPMethod
    let pattern: RoutePattern
    let handler: Handler
  }

  private var routes: [Route] = []

  /// The methods and patterns of all routes, in the order in which they were added.
  package var list: [(method: HTTPMethod, pattern: String)] { routes.map { ($0.method, $0.pattern.text) } }

  package init() {}

  /// Adds a route, such as `router.on(.get, "/v1/jobs/:id") { request, parameters in ... }`.
  package mutating func on(_ method: HTTPMethod, _ pattern: String, handler: @escaping Handler) {
    let route = Route(method: method, pattern: RoutePattern(pattern), handler: handler)
    let isNew = !routes.contains { $0.method == method && $0.pattern.hasSameShape(as: route.pattern) }
    precondition(isNew, "\(method.rawValue) \(pattern) is routed twice")
    routes.append(route)
  }

  /// Answers a request; pass `router.reply(to:)` to the server as its handler.
  package func reply(to request: HTTPRequest) -> HTTPReply {
    let method = request.method == .head ? .get : request.method
    var allowed: Set<String> = []
    for route in routes {
      guard let values = route.pattern.match(request.target.components) else { continue }
      if route.method == method { return route.handler(request, RouteParameters(values: values)) }
      allowed.insert(route.method.rawValue)
    }
    return .now(allowed.isEmpty ? notFound(request) : methodNotAllowed(request, allowed))
  }

  private func notFound(_ request: HTTPRequest) -> HTTPResponse {
    .failure(404, code: "not-found", message: "there is nothing at \(request.path)")
  }

  private func methodNotAllowed(_ request: HTTPRequest, _ methods: Set<String>) -> HTTPResponse {
    let allowed = (methods.contains("GET") ? methods.union(["HEAD"]) : methods).sorted().joined(separator: ", ")
    var response = HTTPResponse.failure(
      405, code: "method-not-allowed", message: "\(request.path) does not support \(request.method.rawValue)",
      hint: "use \(allowed)")
    response.headers["Allow"] = allowed
    return response
  }
}

/// The values of a route's `:name` components in one request.
package struct RouteParameters: Sendable {
  let values: [String: String]

  /// The decoded component; asking for a name that the pattern doesn't have is a mistake in the program.
  package subscript(name: String) -> String {
    guard let value = values[name] else { preconditionFailure("the route has no parameter \(name)") }
    return value
  }
}

/// A path pattern such as `/v1/jobs/:id`, in which `:id` stands for one non-empty component.
struct RoutePattern: Sendable {
  private enum Part: Equatable {
    case literal(String)
    case parameter(String)
  }

  /// As it was written.
  let text: String
  private let parts: [Part]

  init(_ pattern: String) {
    text = pattern
    precondition(pattern.hasPrefix("/"), "a route pattern starts with a slash: \(pattern)")
    parts = pattern.split(separator: "/").map { part in
      part.hasPrefix(":") ? .parameter(String(part.dropFirst())) : .literal(String(part))
    }
  }

  /// The parameters' values if the pattern matches the whole path.
  func match(_ components: [String]) -> [String: String]? {
    guard components.count == parts.count else { return nil }
    var parameters: [String: String] = [:]
    for (part, component) in zip(parts, components) {
      switch part {
      case .literal(let text): if text != component { return nil }
      case .parameter(let name):
        if component.isEmpty { return nil }
        parameters[name] = component
      }
    }
    return parameters
  }

  /// True if another pattern can stand for the same paths as far as their shape tells.
  func hasSameShape(as other: RoutePattern) -> Bool {
    parts.count == other.parts.count
      && zip(parts, other.parts).allSatisfy { pair in
        switch pair {
        case (.parameter, .parameter): true
        case (.literal(let left), .literal(let right)): left == right
        default: false
        }
      }
  }
}
