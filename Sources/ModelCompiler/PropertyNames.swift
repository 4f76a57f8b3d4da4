import ObjectModel

/// The Swift names of an entity's properties: those of the model, unless Swift can't have them.
///
/// The key `bobbin.swiftName` in a property's user info gives it another name. A name that every managed object has
/// (`context`), or that is taken, gets an underscore at its end.
struct PropertyNames {
  static let key = "bobbin.swiftName"

  private var names: [String: String] = [:]
  private var taken: Set<String> = []

  /// The Swift name of a property that the names were made of.
  subscript(property: String) -> String { names[property] ?? property }

  func isTaken(_ name: String) -> Bool { taken.contains(name) }

  /// Names the properties of an entity that its superclass has not named yet.
  ///
  /// - Parameter warnings: Takes what was named otherwise without having been told to.
  /// - Throws: ``ModelError`` for a wanted name that Swift can't have.
  mutating func add(_ entity: Entity, _ warnings: inout [ModelError]) throws(ModelError) {
    let properties = entity.properties.filter { !$0.isHidden }
    let all: [(name: String, wanted: String?, hasHelpers: Bool)] =
      properties.map { property in
        let userInfo = property.attribute?.userInfo ?? property.relationship?.userInfo
        return (property.name, userInfo?[Self.key], property.relationship?.isToMany == true)
      } + entity.entityDescription.fetchedProperties.map { ($0.name, $0.userInfo[Self.key], false) }
    let new = all.filter { names[$0.name] == nil }
    for case (let name, let wanted?, let hasHelpers) in new {
      guard SwiftNames.isIdentifier(wanted), !SwiftNames.reservedProperties.contains(wanted) else {
        throw ModelError(
          .invalidName, "\"\(wanted)\" (\(Self.key)) can't name a property in Swift", entity: entity.name,
          property: name)
      }
      guard take(wanted, hasHelpers) else {
        throw ModelError(
          .invalidName, "\"\(wanted)\" (\(Self.key)) is the name of another property in Swift", entity: entity.name,
          property: name)
      }
      names[name] = wanted
    }
    for (name, wanted, hasHelpers) in new where wanted == nil {
      var free = name
      while !SwiftNames.isIdentifier(free) || SwiftNames.reservedProperties.contains(free) || !take(free, hasHelpers) {
        free += "_"
      }
      names[name] = free
      if free == name { continue }
      let reason =
        SwiftNames.reservedProperties.contains(name)
        ? "every managed object has a property \"\(name)\"" : "Swift can't have this name"
      warnings.append(
        ModelError(
          .invalidName,
          "\(reason), so this one is \"\(free)\" in Swift; \(Self.key) in its user info gives it another name",
          entity: entity.name, property: name))
    }
  }

  /// Reserves a name and, for a to-many relationship, that of its `addTo` method; false if one of them is taken.
  private mutating func take(_ name: String, _ hasHelpers: Bool) -> Bool {
    let names = [name] + (hasHelpers ? ["addTo" + name.prefix(1).uppercased() + name.dropFirst()] : [])
    if names.contains(where: taken.contains) { return false }
    taken.formUnion(names)
    return true
  }
}
