/// The values of a route's `:name` components in one request.
package struct RouteParameters: Sendable {
  let values: [String: String]

  /// The decoded component; asking for a name that the pattern doesn't have is a mistake in the program.
  package subscript(name: String) -> String {
    guard let value = values[name] else { preconditionFailure("the route has no parameter \(name)") }
    return value
  }
}
