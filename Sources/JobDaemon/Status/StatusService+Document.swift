import HTTPService

/// The request for the description of all others.
extension StatusService {
  /// Adds the description of the routes that the router has by then, and of itself.
  func addDocument(to router: inout GuardedRouter) {
    let description = RouteDescription("This description, as OpenAPI 3.1 has it", .json(["type": "object"]))
    let path = "/v1/openapi.json"
    let document = OpenAPIDocument(router.table + [(.get, path, .nothing, description)])
    router.on(.get, path, needs: .nothing, as: description) { _, _ in
      // Few ask for it, and to make it takes longer than all else that a daemon does when it starts.
      .later(within: .seconds(60)) { responder in
        self.figureQueues.async {
          var document = document
          let reply: HTTPResponse
          do { reply = Self.json(try document.json()) } catch {
            reply = .failure(500, code: "internal", message: "the description can't be made: \(error)")
          }
          _ = responder.respond(reply)
        }
      }
    }
  }
}
