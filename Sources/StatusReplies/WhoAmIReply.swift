package import JSONText

/// The reply of `GET /v1/whoami`: who asks, and what that one may do.
package struct WhoAmIReply: Decodable, Sendable {
  /// The number of the user, or the name of the token.
  package let name: String
  /// `read`, `submit` or `control`; each includes those before it.
  package let role: String
  /// The jobs that it may change; older daemons don't tell.
  package let changes: Changes?
  /// The kind of socket that the request came by, `unix` or `tcp`.
  package let via: String

  /// Jobs that somebody may change.
  package enum Changes: String, Decodable, Sendable { case none, own, all }

  package init(name: String, role: String, changes: Changes, via: String) {
    (self.name, self.role, self.changes, self.via) = (name, role, changes, via)
  }

  package var json: JSONValue {
    .object([
      "name": .string(name), "role": .string(role), "changes": (changes?.rawValue).map(JSONValue.string) ?? .null,
      "via": .string(via),
    ])
  }
}
