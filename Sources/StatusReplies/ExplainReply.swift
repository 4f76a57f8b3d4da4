package import JSONText

/// The reply of `GET /v1/explain`: what the jobs of a user can do with a path.
package struct ExplainReply: Decodable, Sendable {
  /// An answer, with the reason if it is no.
  package struct Access: Decodable, Sendable {
    package let allowed: Bool
    package let reason: String?

    /// - Parameter problem: what is in the way, and what to do; nil if nothing is.
    package init(problem: String?) { (allowed, reason) = (problem == nil, problem) }

    fileprivate var json: JSONValue { .object(["allowed": .bool(allowed), "reason": .text(reason)]) }
  }

  package let path: String
  package let user: String
  /// The user as whom the daemon runs.
  package let daemon: String
  package let isFolder: Bool
  /// Nil for a folder, whose files are another question.
  package let reading: Access?
  /// Of the file, or of files in the folder.
  package let writing: Access

  package init(
    path: String, user: String, daemon: String, isFolder: Bool, reading: Access?, writing: Access
  ) {
    (self.path, self.user, self.daemon) = (path, user, daemon)
    (self.isFolder, self.reading, self.writing) = (isFolder, reading, writing)
  }

  package var json: JSONValue {
    .object([
      "path": .string(path), "user": .string(user), "daemon": .string(daemon), "isFolder": .bool(isFolder),
      "reading": reading?.json ?? .null, "writing": writing.json,
    ])
  }
}
