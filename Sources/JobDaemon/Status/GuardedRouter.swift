import HTTPService

/// A router whose routes each name the right that their requests need.
struct GuardedRouter {
  /// A right that a peer may have.
  enum Right: Sendable, CaseIterable { case nothing, reading, changing, submitting }

  private(set) var router = Router()
  private let refusal: @Sendable (Right, HTTPRequest) -> HTTPResponse?

  /// - Parameter refusal: the reply to a request whose peer does not have the right; nil if it has.
  init(refusal: @escaping @Sendable (Right, HTTPRequest) -> HTTPResponse?) { self.refusal = refusal }

  /// Adds a route whose handler is only called for peers with the right.
  mutating func on(
    _ method: HTTPMethod, _ pattern: String, needs right: Right, handler: @escaping Router.Handler
  ) {
    router.on(method, pattern) { [refusal] request, parameters in
      refusal(right, request).map { .now($0) } ?? handler(request, parameters)
    }
  }
}
