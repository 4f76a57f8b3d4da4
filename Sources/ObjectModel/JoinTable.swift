/// The table of a many-to-many relationship's links, one row per pair of objects.
///
/// A to-many relationship without an inverse has one too, and one that is its own inverse keeps each link in both
/// directions. Immutable once the model's initializer has returned; the model owns it.
public final class JoinTable: @unchecked Sendable {
  // @unchecked: everything is written before the model's initializer returns and only read afterwards.

  /// The table's place in its model.
  public let index: Int
  /// The table's name in a store: `Keeper_skills`, with a number if another table has that name in either case.
  public internal(set) var name: String
  /// The entity whose relationship leads to the right side.
  public unowned(unsafe) let left: Entity
  /// The root entity of the other side.
  public unowned(unsafe) let right: Entity
  /// The relationship from left to right, whose name is also that of the column with the right object's key.
  public let relationship: String
  /// The relationship from right to left, or nil if there is none; equal to the other one if it is its own inverse.
  public let inverse: String?
  /// True if the objects on the right have an order for each on the left.
  public let isOrdered: Bool
  /// True if the objects on the left have an order for each on the right.
  public let isInverseOrdered: Bool

  init(index: Int, left: Entity, property: Property, right: Entity) {
    self.index = index
    self.left = left
    self.right = right
    name = "\(left.name)_\(property.name)"
    relationship = property.name
    inverse = property.inverse?.name
    isOrdered = property.relationship?.isOrdered == true
    isInverseOrdered = property.inverse?.relationship?.isOrdered == true
  }

  /// True if each link has a twin in the other direction, because the relationship is its own inverse.
  public var isSymmetric: Bool { inverse == relationship && left.root === right.root }

  /// The column with the left object's key: the inverse's name, or `_owner` where that is taken or missing.
  public var leftColumn: String {
    if let inverse, inverse.lowercased() != relationship.lowercased() { return inverse }
    return relationship.lowercased() == "_owner" ? "_owner_2" : "_owner"
  }

  /// The column with the right object's key.
  public var rightColumn: String { relationship }
}

extension ModelResolver {
  /// Gives each relationship that no to-one relationship mirrors its join table, one per pair of relationships.
  static func makeJoinTables(_ entities: [Entity]) -> [JoinTable] {
    var tables: [JoinTable] = []
    var byDeclaration: [String: JoinTable] = [:]
    let byName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
    for entity in entities {
      for property in entity.properties where property.needsJoinTable {
        guard let destination = property.destination, let owner = byName[property.declaringEntity] else { continue }
        let own = "\(property.declaringEntity).\(property.name)"
        let other = property.inverse.map { "\($0.declaringEntity).\($0.name)" }
        // The end whose name comes first is the left one, so that the order of entities decides nothing.
        property.isLeftEnd = other.map { own <= $0 } ?? true
        let declaration = property.isLeftEnd ? own : other ?? own
        if let known = byDeclaration[declaration] {
          property.joinTable = known
          continue
        }
        let made: JoinTable
        if property.isLeftEnd {
          made = JoinTable(index: tables.count, left: owner, property: property, right: destination)
        } else if let inverse = property.inverse, let left = byName[inverse.declaringEntity] {
          made = JoinTable(index: tables.count, left: left, property: inverse, right: owner)
        } else {
          continue
        }
        byDeclaration[declaration] = made
        property.joinTable = made
        tables.append(made)
      }
    }
    var names = ColumnNames(reserved: entities.filter { $0.parent == nil }.map(\.name))
    // Two tables can have the very same name: "A_b" and "c" make it, and so do "A" and "b_c".
    let sorted = tables.sorted { ($0.name, $0.left.name) < ($1.name, $1.left.name) }
    let clashing = sorted.filter { !names.claim($0.name) }
    for table in clashing { table.name = names.claimNumbered(table.name) }
    return tables
  }
}

extension Property {
  /// True if the destinations are found through links of their own.
  fileprivate var needsJoinTable: Bool { storage == .toMany && inverse?.storage != .reference }
}
