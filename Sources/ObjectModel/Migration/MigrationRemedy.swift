/// Statements of a ``MigrationInstructions`` file that solve what a migration can't decide by itself.
package enum MigrationRemedy {
  /// Lets the objects of an entity of the earlier model go.
  package static func drop(_ entity: Entity) -> String { "drop \(entity.name)" }

  /// Converts values that would not survive another type, in one of several ways.
  ///
  /// - Parameters:
  ///   - spelling: the attribute of the later model, such as `Order.note`.
  ///   - former: the one of the earlier model.
  package static func convert(_ spelling: String, to type: AttributeType, orDrop former: String) -> [String] {
    ["convert \(spelling)", "convert \(spelling) else \(type.exampleText)", "drop \(former)"]
  }

  /// Gives a value to objects that have none.
  package static func fill(_ spelling: String, _ type: AttributeType) -> String {
    "default \(spelling) \(type.exampleText)"
  }
}

extension AttributeType {
  /// A value as an operator writes it, to be replaced by a better one.
  fileprivate var exampleText: String {
    switch self {
    case .integer16, .integer32, .integer64, .decimal, .double, .float: "0"
    case .boolean: "no"
    case .string, .binary, .transformable, .undefined: "\"unknown\""
    case .date: "2001-01-01T00:00:00Z"
    case .uuid: "00000000-0000-0000-0000-000000000000"
    case .uri: "about:blank"
    }
  }
}
