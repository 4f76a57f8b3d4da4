import ObjectModel

/// A small random model: a few entities, some of which inherit, and relationships of every kind between them.
///
/// Entities are named by capitals, attributes by small letters and numbers; relationships are numbered, and the inverse
/// of `r1` is `i1`. So a model can lose parts of itself and the rest keeps its names.
struct Schema: Sendable {
  struct Attribute: Sendable {
    let name: String
    let type: AttributeType
    let isOptional: Bool
    let defaultValue: Value
  }

  struct EntityType: Sendable {
    let name: String
    var parent: Int?
    var attributes: [Attribute]
  }

  /// What one end of a relationship is like.
  struct Shape: Sendable {
    var isToMany = false
    var isOrdered = false
    var isOptional = true
    var rule = RelationshipDescription.DeleteRule.nullify
  }

  enum Inverse: Sendable {
    case none
    case itself
    case end(Shape)
  }

  struct Relation: Sendable {
    let number: Int
    var from: Int
    var to: Int
    var shape: Shape
    var inverse: Inverse
  }

  /// One end of a relationship, as the objects of an entity have it.
  struct End: Sendable {
    enum Storage {
      /// A reference in the object's row.
      case reference
      /// The objects whose reference leads here.
      case references
      /// Links of their own.
      case links
    }

    let index: Int
    let name: String
    let owner: Int
    let destination: Int
    let shape: Shape
    let relation: Int
    /// Whether the owner is the left one of a link.
    let isLeft: Bool
    /// The other end; its own index if it is its own inverse.
    let inverse: Int?
    let storage: Storage
    /// The cell that keeps the place in the inverse's order.
    let placeName: String?
    let isSymmetric: Bool
  }

  var entities: [EntityType]
  var relations: [Relation] { didSet { ends = Self.ends(of: relations) } }
  private(set) var ends: [End]

  init(entities: [EntityType], relations: [Relation]) {
    self.entities = entities
    self.relations = relations
    ends = Self.ends(of: relations)
  }

  private static func ends(of relations: [Relation]) -> [End] {
    var ends: [End] = []
    for (index, relation) in relations.enumerated() {
      let first = ends.count
      func end(_ name: String, _ offset: Int, _ shape: Shape, _ other: Shape?, isLeft: Bool, isSymmetric: Bool) -> End {
        let storage: End.Storage =
          !shape.isToMany ? .reference : other.map { !$0.isToMany } ?? false ? .references : .links
        let hasPlace = !shape.isToMany && other.map { $0.isToMany && $0.isOrdered } ?? false
        return End(
          index: first + offset, name: name + "\(relation.number)", owner: isLeft ? relation.from : relation.to,
          destination: isLeft ? relation.to : relation.from, shape: shape, relation: index, isLeft: isLeft,
          inverse: other == nil ? nil : isSymmetric ? first : first + 1 - offset, storage: storage,
          placeName: hasPlace ? "_order_\(name)\(relation.number)" : nil, isSymmetric: isSymmetric)
      }
      switch relation.inverse {
      case .none: ends.append(end("r", 0, relation.shape, nil, isLeft: true, isSymmetric: false))
      case .itself: ends.append(end("r", 0, relation.shape, relation.shape, isLeft: true, isSymmetric: true))
      case .end(let other):
        ends.append(end("r", 0, relation.shape, other, isLeft: true, isSymmetric: false))
        ends.append(end("i", 1, other, relation.shape, isLeft: false, isSymmetric: false))
      }
    }
    return ends
  }

  // MARK: Entities

  func lineage(_ entity: Int) -> [Int] { [entity] + (entities[entity].parent.map(lineage) ?? []) }

  func isKind(_ entity: Int, of other: Int) -> Bool { lineage(entity).contains(other) }

  func attributes(of entity: Int) -> [Attribute] { lineage(entity).reversed().flatMap { entities[$0].attributes } }

  func ends(of entity: Int) -> [End] { ends.filter { isKind(entity, of: $0.owner) } }

  func attribute(_ name: String, of entity: Int) -> Attribute? {
    attributes(of: entity).first { $0.name == name }
  }

  func end(_ name: String) -> End? { ends.first { $0.name == name } }

  func entity(named name: String) -> Int? { entities.firstIndex { $0.name == name } }

  // MARK: The library's model

  func managedObjectModel() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      entities.indices.map { index in
        let entity = entities[index]
        return EntityDescription(
          entity.name, parent: entity.parent.map { entities[$0].name },
          attributes: entity.attributes.map {
            AttributeDescription($0.name, $0.type, isOptional: $0.isOptional, default: $0.defaultValue)
          },
          relationships: ends.filter { $0.owner == index }.map(relationship))
      })
  }

  private func relationship(_ end: End) -> RelationshipDescription {
    var relationship = RelationshipDescription(
      end.name, to: entities[end.destination].name, inverse: end.inverse.map { ends[$0].name },
      isToMany: end.shape.isToMany, deleteRule: end.shape.rule)
    relationship.isOrdered = end.shape.isOrdered
    relationship.isOptional = end.shape.isOptional
    return relationship
  }
}

extension Schema: CustomStringConvertible {
  /// The model as text: a line for each entity and for each end of a relationship.
  var description: String {
    var lines = entities.map { entity in
      let parent = entity.parent.map { ": \(entities[$0].name)" } ?? ""
      let attributes = entity.attributes.map {
        "\($0.name): \($0.type.rawValue)\($0.isOptional ? "?" : "")"
          + ($0.defaultValue.isNull ? "" : " = \($0.defaultValue.literal)")
      }
      return "entity \(entity.name)\(parent) { \(attributes.joined(separator: "; ")) }"
    }
    lines += ends.map { end in
      let type = entities[end.destination].name
      let shape = end.shape
      let kind =
        shape.isToMany ? (shape.isOrdered ? "[\(type)]" : "Set<\(type)>") : type + (shape.isOptional ? "?" : "")
      let inverse = end.inverse.map { "inverse \(ends[$0].name)" } ?? "no inverse"
      return "  \(entities[end.owner].name).\(end.name): \(kind), \(inverse), \(shape.rule.rawValue.lowercased())"
    }
    return lines.joined(separator: "\n")
  }
}

extension Value {
  /// The value as it would be written in a program.
  var literal: String {
    switch self {
    case .null: "nil"
    case .integer(let value): "\(value)"
    case .double(let value): "\(value)"
    case .boolean(let value): "\(value)"
    case .string(let value): "\"\(value)\""
    default: "\(self)"
    }
  }
}

// MARK: - Random models

extension Schema {
  static func random(_ random: inout RandomSource, withOneToOne: Bool) -> Schema {
    let count = random.pick(weighted: [(2, 1), (5, 2), (4, 3)])
    let entities = (0..<count).map { index in
      let letter = ["A", "B", "C"][index]
      let attributes = (0..<random.number(1..<4)).map { number in
        randomAttribute("\(letter.lowercased())\(number)", &random)
      }
      let parent = index > 0 && random.chance(35) ? random.number(0..<index) : nil
      return EntityType(name: letter, parent: parent, attributes: attributes)
    }
    let relations = (0..<random.number(1..<4)).map {
      randomRelation($0, count, withOneToOne: withOneToOne, &random)
    }
    return Schema(entities: entities, relations: relations)
  }

  private static func randomAttribute(_ name: String, _ random: inout RandomSource) -> Attribute {
    let type = random.pick(weighted: [
      (4, AttributeType.integer64), (3, .string), (1, .double), (1, .boolean),
    ])
    let isOptional = random.chance(85)
    let hasDefault = random.chance(isOptional ? 25 : 60)
    return Attribute(
      name: name, type: type, isOptional: isOptional,
      defaultValue: hasDefault ? random.value(of: type, isOptional: false) : .null)
  }

  private static func randomRelation(
    _ number: Int, _ count: Int, withOneToOne: Bool, _ random: inout RandomSource
  ) -> Relation {
    let from = random.number(0..<count)
    let to = random.number(0..<count)
    func shape(_ isToMany: Bool, _ random: inout RandomSource) -> Shape {
      Shape(
        isToMany: isToMany, isOrdered: isToMany && random.chance(40), isOptional: isToMany || random.chance(90),
        rule: random.pick(weighted: [(6, .nullify), (3, .cascade), (1, .deny), (1, .noAction)]))
    }
    switch random.number(0..<12) {
    case 0:
      return Relation(number: number, from: from, to: to, shape: shape(random.chance(50), &random), inverse: .none)
    case 1:
      var own = shape(!withOneToOne || random.chance(50), &random)
      own.isOrdered = false
      return Relation(number: number, from: from, to: from, shape: own, inverse: .itself)
    case 2...3 where withOneToOne:
      return Relation(
        number: number, from: from, to: to, shape: shape(false, &random), inverse: .end(shape(false, &random)))
    case 2...7:
      return Relation(
        number: number, from: from, to: to, shape: shape(true, &random), inverse: .end(shape(false, &random)))
    default:
      return Relation(
        number: number, from: from, to: to, shape: shape(true, &random), inverse: .end(shape(true, &random)))
    }
  }
}

extension RandomSource {
  /// A value of a few, so that some are equal.
  mutating func value(of type: AttributeType, isOptional: Bool) -> Value {
    if isOptional && chance(12) { return .null }
    switch type {
    case .integer64: return .integer(Int64(number(0..<8)))
    case .double: return .double(Double(number(-4..<8)) / 2)
    case .boolean: return .boolean(chance(50))
    default: return .string(pick(["", "a", "b", "ab", "é"]) ?? "")
    }
  }
}
