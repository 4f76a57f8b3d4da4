import JSONText
import Jobs
import ObjectModel
import TextSupport

/// A column of the input, or a constant, and the property that its values go into.
struct ImportColumn: Sendable {
  /// The treatment of a value of a relationship that no object has.
  enum Missing: String, CaseIterable, Sendable {
    case reject
    case create
    case null
  }

  enum Target: Sendable {
    case attribute(AttributeDescription)
    /// An object that has the value in an attribute.
    case relationship(key: Property, attribute: AttributeDescription, missing: Missing)
  }

  /// The place in the record, from 0; nil for a constant.
  var position: Int?
  /// Its name in the input.
  var label: String
  let property: Property
  let target: Target
  let rules: ValueRules
  let constant: [UInt8]?

  init(
    position: Int? = nil, label: String, property: Property, target: Target, rules: ValueRules,
    constant: [UInt8]? = nil
  ) {
    self.position = position
    self.label = label
    self.property = property
    self.target = target
    self.rules = rules
    self.constant = constant
  }

  /// The attribute whose type the values have: of a relationship, the key of the other entity.
  var attribute: AttributeDescription {
    switch target {
    case .attribute(let attribute): attribute
    case .relationship(_, let attribute, _): attribute
    }
  }

  /// The slot of the values that are read, in rows of the property's entity or, for a relationship, of the other one.
  var valueSlot: Int { if case .relationship(let key, _, _) = target { key.slot } else { property.slot } }

  /// Returns why values can't be imported into an attribute of that name; nil if they can.
  static func problem(_ name: String, _ entity: Entity) -> String? {
    guard let property = entity.property(named: name) else {
      let known = entity.properties.compactMap { $0.isHidden ? nil : $0.name }
      let nearest = NearestName.find(name, in: known).map { "; did you mean \"\($0)\"?" } ?? ""
      return "the entity \"\(entity.name)\" has no attribute \"\(name)\"\(nearest)"
    }
    guard let attribute = property.attribute else {
      return "\"\(entity.name).\(name)\" is a relationship; say {\"relationship\": \"\(name)\", \"key\": …} with an "
        + "attribute of \"\(property.destination?.name ?? "")\" to find its objects by"
    }
    switch attribute.type {
    case .binary, .transformable:
      return "\"\(entity.name).\(name)\" is \(attribute.type.rawValue), which no column holds"
    default:
      return attribute.isTransient || attribute.derivation != nil
        ? "\"\(entity.name).\(name)\" is not stored or derived, so that it can't be imported" : nil
    }
  }
}

/// By which properties a record is the same as an object that is there.
struct ImportKey {
  let properties: [Property]

  init(_ reader: ArgumentReader, _ entity: Entity, mode: ImportMode) throws(JobFileError) {
    guard let value = reader.value("key") else {
      properties = mode.usesKey ? try Self.constraint(of: entity, reader: reader, mode: mode) : []
      return
    }
    if !mode.usesKey {
      throw reader.error("has no meaning for the mode \"\(mode.rawValue)\"; it is for skip, update and mirror", "key")
    }
    let names = value.string.map { [$0] } ?? value.array?.compactMap(\.string) ?? []
    guard !names.isEmpty, value.array.map({ $0.count == names.count }) ?? true else {
      throw reader.error("must be an attribute or a list of attributes, not \(value.kindName)", "key")
    }
    var properties: [Property] = []
    for name in names {
      guard let property = entity.property(named: name), property.isPersistent, property.derivation == nil else {
        throw reader.error("the entity \"\(entity.name)\" has no property \"\(name)\" to look for", "key")
      }
      properties.append(property)
    }
    guard Self.isIndexed(names, entity) else {
      throw reader.error(
        "objects of \"\(entity.name)\" can't be found by \(names.joined(separator: ", ")) at once; give the entity a "
          + "uniqueness constraint or a fetch index over them in the model", "key")
    }
    self.properties = properties
  }

  /// The properties of the entity's only constraint.
  private static func constraint(
    of entity: Entity, reader: ArgumentReader, mode: ImportMode
  ) throws(JobFileError) -> [Property] {
    let constraints = Self.constraints(of: entity)
    guard constraints.count == 1 else {
      let reason =
        constraints.isEmpty
        ? "the entity \"\(entity.name)\" has no uniqueness constraint" : "it has several uniqueness constraints"
      throw reader.error("is needed for the mode \"\(mode.rawValue)\", since \(reason)", "key")
    }
    return constraints[0].compactMap(entity.property(named:))
  }

  static func constraints(of entity: Entity) -> [[String]] {
    sequence(first: entity, next: \.parent).flatMap(\.entityDescription.uniquenessConstraints).filter { !$0.isEmpty }
  }

  /// True if the store finds objects by these properties without looking at all of them.
  static func isIndexed(_ names: [String], _ entity: Entity) -> Bool {
    let wanted = Set(names)
    if constraints(of: entity).contains(where: { wanted.isSuperset(of: Set($0)) }) { return true }
    return sequence(first: entity, next: \.parent).flatMap(\.entityDescription.fetchIndexes).contains { index in
      index.elements.first.map { wanted.contains($0.property) } ?? false
    }
  }
}

/// The treatment of objects that exist already.
enum ImportMode: String, CaseIterable, Sendable {
  /// Every record becomes a new object; one whose unique values exist already is rejected.
  case insert
  /// A record whose key exists already is skipped.
  case skip
  /// An object with the key gets the record's values; other records become new objects.
  case update
  /// As `update`, and objects that no record has the key of are deleted.
  case mirror
  /// All objects of the entity are deleted first.
  case replaceAll

  /// True if records are looked for by a key.
  var usesKey: Bool { self == .skip || self == .update || self == .mirror }
  /// True if objects are deleted that were there.
  var deletes: Bool { self == .mirror || self == .replaceAll }
  /// True if it can only be done as a whole, in one transaction.
  var isAtomic: Bool { self == .mirror || self == .replaceAll }
  /// True if deleting the new objects reverts everything.
  var isRevertible: Bool { self == .insert || self == .skip }
}
