import HTTPService

/// The request for the description of all others.
extension StatusService {
  /// Adds the description of the routes that the router has by then, and of itself.
  func addDocument(to router: inout GuardedRouter) {
    let description = RouteDescription("This description, as OpenAPI 3.1 has it", .json(["type": "object"]))
    let path = "/v1/openapi.json"
    let document = OpenAPIDocument(router.table + [(.get, path, .nothing, description)])
    router.on(.get, path, needs: .nothing, as: description) { [self] _, _ in
      if let made = documentReply.withLock({ $0 }) { return .now(made) }
      return .later(within: .seconds(60)) { responder in
        self.figureQueues.async { _ = responder.respond(self.makeDocumentReply(of: document)) }
      }
    }
  }

  /// Makes the reply when somebody first asks for it: few do, and it took two fifths of a start.
  private func makeDocumentReply(of document: OpenAPIDocument) -> HTTPResponse {
    // Another request may have waited for the queue, too.
    if let made = documentReply.withLock({ $0 }) { return made }
    var document = document
    let made: HTTPResponse
    do { made = Self.json(try document.json()) } catch {
      made = .failure(500, code: "internal", message: "the description can't be made: \(error)")
    }
    documentReply.withLock { $0 = made }
    return made
  }
}
