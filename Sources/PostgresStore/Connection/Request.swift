/// A statement with the values of its parameters.
package struct Request: Sendable {
  let sql: String
  let parameters: Parameters
  /// True if it stays prepared for its next use; a prepared FETCH would remember the columns of another cursor.
  let isKept: Bool

  /// False for what is the store's own housekeeping, such as BEGIN.
  let isLogged: Bool

  package init(
    _ sql: String, _ parameters: Parameters = Parameters(), isKept: Bool = true, isLogged: Bool = true
  ) {
    self.sql = sql
    self.parameters = parameters
    self.isKept = isKept
    self.isLogged = isLogged
  }

  /// The same, not to be prepared.
  var once: Request { Request(sql, parameters, isKept: false, isLogged: isLogged) }
}
