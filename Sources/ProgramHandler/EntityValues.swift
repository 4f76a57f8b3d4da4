import DelimitedText
import Foundation
import JSONText
import Jobs
import ObjectGraph
import ObjectModel
import TextSupport

/// Checks the objects that a program wants inserted against the model.
struct EntityValues {
  /// An object with values of the right types.
  struct Checked: Sendable {
    let entity: Entity
    let values: [(name: String, value: Value)]
    let line: Int
  }

  private let model: ManagedObjectModel
  private var entities: [String: Entity] = [:]

  init(_ model: ManagedObjectModel) { self.model = model }

  /// - Throws: ``OutputError`` that names line, entity and attribute.
  mutating func check(_ insert: ObjectInsert, line: Int) throws(OutputError) -> Checked {
    do throws(OutputMessage.Problem) {
      let entity = try entity(insert.entity)
      var values: [(String, Value)] = []
      for (name, json) in insert.values { values.append((name, try value(json, name, of: entity))) }
      return Checked(entity: entity, values: values, line: line)
    } catch {
      throw OutputError(line: line, message: error.message)
    }
  }

  private mutating func entity(_ name: String) throws(OutputMessage.Problem) -> Entity {
    if let known = entities[name] { return known }
    if BuiltInModel.entityNames.contains(name) {
      throw OutputMessage.Problem("the entity \"\(name)\" is the daemon's own; insert into one of models/")
    }
    guard let entity = model.entitiesByName[name] else {
      let names = model.entities.filter { !$0.isAbstract }.map(\.name).filter { !BuiltInModel.entityNames.contains($0) }
      let nearest = NearestName.find(name, in: names).map { "; did you mean \"\($0)\"?" } ?? ""
      let known =
        names.isEmpty
        ? "no model in models/ that the daemon has taken defines any"
        : "there are \(names.sorted().joined(separator: ", "))"
      throw OutputMessage.Problem("there is no entity \"\(name)\"\(nearest.isEmpty ? "; " + known : nearest)")
    }
    if entity.isAbstract {
      throw OutputMessage.Problem("the entity \"\(name)\" is abstract, so that it has no objects")
    }
    guard entity.root.withDescendants.allSatisfy({ $0.entityDescription.uniquenessConstraints.isEmpty }) else {
      throw OutputMessage.Problem(
        "the entity \"\(name)\" has a uniqueness constraint, which inserts of this version can't resolve")
    }
    entities[name] = entity
    return entity
  }

  private func value(_ json: JSONValue, _ name: String, of entity: Entity) throws(OutputMessage.Problem) -> Value {
    guard let property = entity.property(named: name), !property.isHidden else {
      let nearest = NearestName.find(name, in: entity.properties.compactMap { $0.attribute?.name })
      let hint = nearest.map { "; did you mean \"\($0)\"?" } ?? ""
      throw OutputMessage.Problem("the entity \"\(entity.name)\" has no attribute \"\(name)\"\(hint)")
    }
    guard let attribute = property.attribute else {
      throw OutputMessage.Problem(
        "\"\(entity.name).\(name)\" is a relationship, which inserts of this version can't fill")
    }
    if attribute.isTransient || attribute.derivation != nil || attribute.type == .transformable {
      throw OutputMessage.Problem("\"\(entity.name).\(name)\" can't be set from outside; leave it out")
    }
    if json.isNull { return .null }
    guard let value = Self.value(json, attribute.type) else {
      throw OutputMessage.Problem(
        "\"\(entity.name).\(name)\" must be \(Self.expected(attribute.type)), not \(Self.shown(json))")
    }
    return value
  }

  /// Converts a JSON value to an attribute's type; nil if that is impossible.
  static func value(_ json: JSONValue, _ type: AttributeType) -> Value? {
    switch type {
    case .string: json.string.map(Value.string)
    case .integer16, .integer32, .integer64: json.integer.flatMap { Value.integer($0).converted(to: type) }
    case .boolean: json.bool.map(Value.boolean)
    case .double, .float: json.number.map(Value.double)
    case .decimal:
      (json.string ?? json.integer.map(String.init) ?? json.number.map { "\($0)" }).flatMap { Value($0, as: type) }
    case .date: json.string.flatMap { date($0) }
    case .uuid, .uri, .binary: json.string.flatMap { Value($0, as: type) }
    case .transformable, .undefined: nil
    }
  }

  private static func date(_ text: String) -> Value? {
    var text = text
    let seconds = text.withUTF8 { FieldParser.date(UnsafeRawBufferPointer($0)) }
    return seconds.map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
  }

  private static func expected(_ type: AttributeType) -> String {
    switch type {
    case .string: "a string"
    case .integer16: "a whole number of 16 bits"
    case .integer32: "a whole number of 32 bits"
    case .integer64: "a whole number of 64 bits"
    case .boolean: "true or false"
    case .double, .float: "a number"
    case .decimal: "a number, or a string with one"
    case .date: "a date as \"2026-11-21T10:00:00Z\""
    case .uuid: "a string with a UUID"
    case .uri: "a string with a URI"
    case .binary: "a string in Base64"
    case .transformable, .undefined: "left out"
    }
  }

  /// Returns a short value itself, since that says more than its kind.
  private static func shown(_ json: JSONValue) -> String {
    switch json {
    case .integer, .number, .bool: json.serialized()
    case .string(let text) where text.count <= 40: json.serialized()
    default: json.kindName
    }
  }
}
