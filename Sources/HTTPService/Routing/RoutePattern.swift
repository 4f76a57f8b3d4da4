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
