package import JSONText

/// The reply of `GET /v1/entities`: what imports can go into, by name.
package struct EntitiesReply: Decodable, Sendable {
  package struct Entity: Decodable, Sendable {
    package let name: String
    package let attributes: [Attribute]
    package let relationships: [Relationship]?

    package init(name: String, attributes: [Attribute], relationships: [Relationship]) {
      (self.name, self.attributes, self.relationships) = (name, attributes, relationships)
    }

    fileprivate var json: JSONValue {
      .object([
        "name": .string(name), "attributes": .array(attributes.map(\.json)),
        "relationships": .array((relationships ?? []).map(\.json)),
      ])
    }
  }

  package struct Relationship: Decodable, Sendable {
    package let name: String
    /// The entity of the objects that it leads to.
    package let destination: String
    package let isToMany: Bool
    package let isOptional: Bool

    package init(name: String, destination: String, isToMany: Bool, isOptional: Bool) {
      (self.name, self.destination, self.isToMany, self.isOptional) = (name, destination, isToMany, isOptional)
    }

    fileprivate var json: JSONValue {
      .object([
        "name": .string(name), "destination": .string(destination), "isToMany": .bool(isToMany),
        "isOptional": .bool(isOptional),
      ])
    }
  }

  package struct Attribute: Decodable, Sendable {
    package let name: String
    /// As model files name it, such as `Integer 64`.
    package let type: String
    package let isOptional: Bool

    package init(name: String, type: String, isOptional: Bool) {
      (self.name, self.type, self.isOptional) = (name, type, isOptional)
    }

    fileprivate var json: JSONValue {
      .object(["name": .string(name), "type": .string(type), "isOptional": .bool(isOptional)])
    }
  }

  package let entities: [Entity]
  /// Those that can be queried, but not imported into.
  package let readOnly: [Entity]?

  package init(entities: [Entity], readOnly: [Entity]) { (self.entities, self.readOnly) = (entities, readOnly) }

  package var json: JSONValue {
    .object(["entities": .array(entities.map(\.json)), "readOnly": .array((readOnly ?? []).map(\.json))])
  }
}
