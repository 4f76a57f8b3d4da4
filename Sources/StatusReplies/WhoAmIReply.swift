package import JSONText

/// The reply of `GET /v1/whoami`: who asks, and what that one may do.
package struct WhoAmIReply: Decodable, Sendable {
  /// The number of the user, or the name of the token.
  package let name: String
  /// `read`, `submit` or `control`; each includes those before it.
  package let role: String
  /// The jobs that it may change: `none`, its `own` or `all`; older daemons don't tell.
  package let changes: String?
  /// The kind of socket that the request came by, `unix` or `tcp`.
  package let via: String

  package init(name: String, role: String, changes: String, via: String) {
    (self.name, self.role, self.changes, self.via) = (name, role, changes, via)
  }

  package var json: JSONValue {
    .object([
      "name": .string(name), "role": .string(role), "changes": .text(changes), "via": .string(via),
    ])
  }
}
