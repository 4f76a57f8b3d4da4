/// How names of the model become names in SQL.
package enum SchemaName {
  package static let key = "_key"
  package static let version = "_version"
  package static let entity = "_entity"

  /// The name in double quotes, so that it can be no keyword.
  package static func quoted(_ name: String) -> String {
    "\"" + name.replacing("\"", with: "\"\"") + "\""
  }

  /// The name as a text literal.
  package static func literal(_ name: String) -> String {
    "'" + name.replacing("'", with: "''") + "'"
  }
}
