/// A request's method, open to names this module doesn't know.
package struct HTTPMethod: RawRepresentable, Hashable, Sendable {
  package let rawValue: String

  package init(rawValue: String) {
    self.rawValue = rawValue
  }

  package static let delete = Self(rawValue: "DELETE")
  package static let get = Self(rawValue: "GET")
  package static let head = Self(rawValue: "HEAD")
  package static let patch = Self(rawValue: "PATCH")
  package static let post = Self(rawValue: "POST")
  package static let put = Self(rawValue: "PUT")
}
