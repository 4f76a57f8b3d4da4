package import JSONText

/// The reply of `GET /v1/whoami`: who asks, and what that one may do.
package struct WhoAmIReply: Decodable, Sendable {
  /// The number of the user, or the name of the token.
  package let name: String
  /// The number of the user whose jobs are its own; a token's is that of the user it stands for. Older daemons don't tell.
  package let user: Int?
  /// `read`, `submit` or `control`; each includes those before it.
  package let role: String
  /// The jobs that it may change: `none`, its `own` or `all`; older daemons don't tell.
  package let changes: String?
  /// The jobs of which it may say what they do: `none`, its `own` or `all`; older daemons don't tell.
  package let edits: String?
  /// The kind of socket that the request came by, `unix` or `tcp`.
  package let via: String

  package init(name: String, user: Int?, role: String, changes: String, edits: String, via: String) {
    (self.name, self.user, self.role) = (name, user, role)
    (self.changes, self.edits, self.via) = (changes, edits, via)
  }

  package var json: JSONValue {
    .object([
      "name": .string(name), "user": user.map { .integer(Int64($0)) } ?? .null, "role": .string(role),
      "changes": .text(changes), "edits": .text(edits), "via": .string(via),
    ])
  }
}
