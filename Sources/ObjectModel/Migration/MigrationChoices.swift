/// The decisions about a migration, made by an operator in a file or by the author of a stage in Swift.
package struct MigrationChoices: Sendable {
  /// One decision.
  package struct Statement: Sendable {
    package enum Kind: Sendable, Hashable {
      /// An entity of the earlier model is one of another name in the later model.
      case renameEntity(String, to: String)
      /// A property of the earlier model has another name in the later one.
      case renameProperty(PropertyName, to: String)
      /// The objects of an entity of the earlier model go.
      case dropEntity(String)
      /// The values or links of a property of the earlier model go.
      case dropProperty(PropertyName)
      /// Objects without a value get one, for an attribute of the later model; as a person writes it.
      case setDefault(PropertyName, String)
      /// The values of an attribute of the later model are converted, and rounded where they must be.
      case convert(PropertyName, Fallback)
      /// The rows of an entity of the earlier model are written to a file before anything happens to them.
      case export(String)
      /// Code sets what can't be inferred for the objects of an entity of the earlier model.
      case handle(String)
    }

    package let kind: Kind
    /// The file and line it comes from, or what else tells a person where to look.
    package let place: String

    package init(_ kind: Kind, place: String) {
      self.kind = kind
      self.place = place
    }
  }

  package struct PropertyName: Sendable, Hashable, CustomStringConvertible {
    package let entity: String
    package let property: String

    package init(_ entity: String, _ property: String) {
      self.entity = entity
      self.property = property
    }

    package var description: String { "\(entity).\(property)" }
  }

  /// The treatment of a value that can't be converted.
  package enum Fallback: Sendable, Hashable {
    /// The migration is refused.
    case refuse
    /// The object has no value.
    case nothing
    /// The object has this one, as a person writes it.
    case value(String)
  }

  package var statements: [Statement]

  package init(_ statements: [Statement] = []) { self.statements = statements }

  /// The entities of the earlier model whose rows are written to files.
  package var exports: [String] {
    statements.compactMap { if case .export(let name) = $0.kind { name } else { nil } }
  }

  package func isDropped(_ entity: String) -> Bool { statements.contains { $0.kind == .dropEntity(entity) } }

  package func isHandled(_ entity: String) -> Bool { statements.contains { $0.kind == .handle(entity) } }

  func newName(of entity: String) -> String? {
    for case .renameEntity(entity, let name) in statements.map(\.kind) { return name }
    return nil
  }

  /// Statements name a property by the entity or by one it inherits from.
  func isDropped(_ property: Property, of entity: Entity) -> Bool {
    names(property, entity).contains { name in statements.contains { $0.kind == .dropProperty(name) } }
  }

  func newName(of property: Property, in entity: Entity) -> String? {
    for name in names(property, entity) {
      for case .renameProperty(name, let new) in statements.map(\.kind) { return new }
    }
    return nil
  }

  func defaultText(of property: Property, in entity: Entity) -> String? {
    for name in names(property, entity) {
      for case .setDefault(name, let text) in statements.map(\.kind) { return text }
    }
    return nil
  }

  func conversion(of property: Property, in entity: Entity) -> Fallback? {
    for name in names(property, entity) {
      for case .convert(name, let fallback) in statements.map(\.kind) { return fallback }
    }
    return nil
  }

  private func names(_ property: Property, _ entity: Entity) -> [PropertyName] {
    sequence(first: entity, next: \.parent).map { PropertyName($0.name, property.name) }
  }
}
