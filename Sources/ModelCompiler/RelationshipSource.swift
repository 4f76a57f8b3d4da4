import ObjectModel

/// The accessors of a relationship.
struct RelationshipSource {
  private let relationship: RelationshipDescription
  private let property: Property
  private let owner: ClassSource

  init(_ relationship: RelationshipDescription, _ property: Property, _ owner: ClassSource) {
    self.relationship = relationship
    self.property = property
    self.owner = owner
  }

  func add(to source: inout SourceText) {
    let destination = owner.className(of: property.destination)
    let (label, type) =
      switch (relationship.isToMany, relationship.isOrdered) {
      case (false, _): ("toOne", "\(destination)?")
      case (true, false): ("toMany", "\(owner.library("Set"))<\(destination)>")
      case (true, true): ("ordered", "[\(destination)]")
      }
    let place = "self[\(label): \(property.slot), as: \(destination).self]"
    let name = owner.swiftName(of: property.name)
    owner.addProperty(
      name, type: type, get: place, set: "\(place) = newValue",
      documentation: relationship.userInfo["documentation"], to: &source)
    guard relationship.isToMany else { return }
    let capitalized = name.prefix(1).uppercased() + name.dropFirst()
    source.add("")
    source.add("\(owner.modifier)final func addTo\(capitalized)(_ object: \(destination)) {")
    source.indented { $0.add("add(object, toMany: \(property.slot))") }
    source.add("}")
    source.add("")
    source.add("\(owner.modifier)final func removeFrom\(capitalized)(_ object: \(destination)) {")
    source.indented { $0.add("remove(object, fromMany: \(property.slot))") }
    source.add("}")
    if relationship.isOrdered { addHelpersByIndex(capitalized, destination, to: &source) }
  }

  private func addHelpersByIndex(_ name: String, _ destination: String, to source: inout SourceText) {
    let int = owner.library("Int")
    let helpers = [
      (
        "insertInto\(name)(_ object: \(destination), at index: \(int))",
        "insert(object, ordered: \(property.slot), at: index)"
      ),
      ("removeFrom\(name)(at index: \(int))", "remove(at: index, ordered: \(property.slot))"),
      (
        "replace\(name)(at index: \(int), with object: \(destination))",
        "replace(at: index, with: object, ordered: \(property.slot))"
      ),
      (
        "move\(name)(from index: \(int), to newIndex: \(int))",
        "move(from: index, to: newIndex, ordered: \(property.slot))"
      ),
    ]
    for (signature, body) in helpers {
      source.add("")
      source.add("\(owner.modifier)final func \(signature) {")
      source.indented { $0.add(body) }
      source.add("}")
    }
  }
}
