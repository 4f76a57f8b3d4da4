import Configuration
import HTTPService
import JSONText
import StatusReplies
import SystemSupport

/// The description of all routes, as OpenAPI 3.1 has it.
struct OpenAPIDocument {
  /// A route, what it needs, and what clients are told of it.
  typealias Route = (
    method: HTTPMethod, pattern: String, right: GuardedRouter.Right, description: RouteDescription
  )

  private var schemas = ReplySchemas()
  private let routes: [Route]

  init(_ routes: [Route]) { self.routes = routes }

  /// The document.
  ///
  /// - Throws: `DecodingError` if a reply is of a type whose decoding can't be watched.
  mutating func json() throws -> JSONValue {
    var paths: [String: JSONObject] = [:]
    for route in routes {
      let path = route.pattern.split(separator: "/").map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0) }
      paths["/" + path.joined(separator: "/"), default: [:]][route.method.rawValue.lowercased()] = try operation(route)
    }
    let error = try schemas.schema(of: ErrorReply.self)
    let sorted = paths.sorted { $0.key < $1.key }
    return [
      "openapi": "3.1.0",
      "info": [
        "title": "Bobbin", "version": .string(Release.version),
        "summary": "Jobs of this host or its fleet, over the socket of bobbind",
        "license": ["name": "Apache 2.0", "identifier": "Apache-2.0"],
      ],
      "servers": [["url": "/"]],
      // The Unix socket needs no token.
      "security": [[:], ["token": []]],
      "paths": .object(sorted.reduce(into: JSONObject()) { $0[$1.key] = .object($1.value) }),
      "components": [
        "schemas": .object(
          schemas.definitions.sorted { $0.key < $1.key }.reduce(into: JSONObject()) { $0[$1.key] = $1.value }),
        "securitySchemes": [
          "token": [
            "type": "http", "scheme": "bearer", "description": "A token made by `bobbinctl token`, for clients of TCP",
          ]
        ],
        "parameters": [
          "IfNoneMatch": Self.parameter(
            .init(
              name: "If-None-Match", summary: "The ETag of an earlier reply, which is not sent again if it is the same",
              schema: ["type": "string"]), in: "header")
        ],
        "responses": [
          "Unchanged": [
            "description": "The reply is the one that the client has, by its ETag.",
            "headers": ["ETag": ["schema": ["type": "string"]]],
          ],
          "Refusal": [
            "description": "The request was refused, or it failed; the code says how, the message is for people.",
            "content": ["application/json": ["schema": error]],
          ],
        ],
      ],
    ]
  }

  private mutating func operation(_ route: Route) throws -> JSONValue {
    let (description, parts) = (route.description, route.pattern.split(separator: "/"))
    let names = parts.map { $0.drop { $0 == ":" } }.filter { $0 != "v1" }
    var operation: JSONObject = [
      "operationId": .string(([route.method.rawValue.lowercased()[...]] + names).joined(separator: "-")),
      "summary": .string(description.summary),
    ]
    let parameters =
      parts.filter { $0.hasPrefix(":") }.map { Self.parameter(ofPath: $0.dropFirst()) }
      + description.query.map { Self.parameter($0, in: "query") }
      + description.headers.map { Self.parameter($0, in: "header") }
      + (Self.hasTag(route) ? [["$ref": "#/components/parameters/IfNoneMatch"]] : [])
    if !parameters.isEmpty { operation["parameters"] = .array(parameters) }
    if let body = description.body {
      operation["requestBody"] = ["required": .bool(body.isRequired), "content": try content(body.contents)]
    }
    operation["responses"] = try responses(route)
    return .object(operation)
  }

  private mutating func responses(_ route: Route) throws -> JSONValue {
    var responses: [Int: JSONValue] = [:]
    for status in Self.refusals(of: route) { responses[status] = ["$ref": "#/components/responses/Refusal"] }
    if Self.hasTag(route) { responses[304] = ["$ref": "#/components/responses/Unchanged"] }
    for status in route.description.statuses {
      var response: JSONObject = ["description": .string(route.description.summary)]
      if !route.description.replies.isEmpty { response["content"] = try content(route.description.replies) }
      responses[status] = .object(response)
    }
    return .object(responses.sorted { $0.key < $1.key }.reduce(into: JSONObject()) { $0[String($1.key)] = $1.value })
  }

  /// True if its replies have tags: the server gives one to each that is whole in memory.
  private static func hasTag(_ route: Route) -> Bool {
    route.method == .get && !route.description.replies.isEmpty
      && !route.description.replies.contains { $0.mediaType == "text/event-stream" }
  }

  /// The statuses with which the server and the service may refuse a request, whatever the route makes of it.
  private static func refusals(of route: Route) -> Set<Int> {
    // Over TCP the host's name and the token are judged first.
    var statuses: Set = [400, 421, 500, 503, 504]
    if route.right != .nothing { statuses.formUnion([401, 403, 429]) }
    if route.description.body != nil { statuses.formUnion([411, 413]) }
    return statuses.union(route.description.refusals)
  }

  private mutating func content(_ contents: [RouteDescription.Content]) throws -> JSONValue {
    var media: JSONObject = [:]
    for content in contents { media[content.mediaType] = ["schema": try content.schema(&schemas)] }
    return .object(media)
  }

  private static func parameter(_ parameter: RouteDescription.Parameter, in place: JSONValue) -> JSONValue {
    var object: JSONObject = [
      "name": .string(parameter.name), "in": place, "required": .bool(parameter.isRequired),
      "description": .string(parameter.summary), "schema": parameter.schema,
    ]
    if parameter.isRepeatable { object["schema"] = ["type": "array", "items": parameter.schema] }
    if parameter.isExploded || parameter.isRepeatable { (object["style"], object["explode"]) = ("form", true) }
    return .object(object)
  }

  private static func parameter(ofPath name: Substring) -> JSONValue {
    ["name": .string(String(name)), "in": "path", "required": true, "schema": ["type": "string", "minLength": 1]]
  }
}
