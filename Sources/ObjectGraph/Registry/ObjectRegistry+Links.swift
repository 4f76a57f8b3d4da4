import ObjectModel

extension ObjectRegistry {
  /// Adds or removes a link of a many-to-many relationship at both ends.
  func setLink(_ object: ManagedObject, _ property: Property, _ destination: ManagedObject, isPresent: Bool) {
    checkExecutor()
    guard let table = property.joinTable else { return }
    var orders: (own: Int64?, inverse: Int64?)
    if isPresent, table.isOrdered || table.isInverseOrdered {
      // An existing link keeps its place.
      if toManyIDs(of: object, property.slot).contains(destination.objectID) { return }
      if property.isOrdered { orders.own = coordinator.drawOrder() }
      if property.inverse?.isOrdered == true { orders.inverse = coordinator.drawOrder() }
    }
    note(object, property, destination, table, isPresent: isPresent, order: orders.own, inverseOrder: orders.inverse)
    knowToMany(of: object, property)
    object.toMany?[property.slot]?.set(destination.objectID, isPresent: isPresent)
    noteRelationshipChange(of: object, property.slot, firesFault: isPresent)
    guard let inverse = property.inverse else { return }
    knowToMany(of: destination, inverse)
    destination.toMany?[inverse.slot]?.set(object.objectID, isPresent: isPresent)
    noteRelationshipChange(of: destination, inverse.slot, firesFault: isPresent)
  }

  /// Sets the place of a destination that is linked.
  func setOrder(
    _ order: Int64, of destination: ManagedObject, for object: ManagedObject, _ property: Property, _ table: JoinTable
  ) {
    note(object, property, destination, table, isPresent: true, order: order, inverseOrder: nil, isTwinned: false)
  }

  private func note(
    _ object: ManagedObject, _ property: Property, _ destination: ManagedObject, _ table: JoinTable, isPresent: Bool,
    order: Int64?, inverseOrder: Int64?, isTwinned: Bool = true
  ) {
    let changes = LinkChange.changes(
      table, of: property, from: object.objectID, to: destination.objectID, isPresent: isPresent, order: order,
      inverseOrder: inverseOrder)
    for change in isTwinned ? changes : Array(changes.prefix(1)) { record(change) }
  }

  private func record(_ change: LinkChange) {
    noteForUndo(change.key)
    linkChanges[change.key] = linkChanges[change.key]?.followed(by: change) ?? change
  }

  /// Removes and returns the links changed since the last call.
  func takeLinkChanges() -> [LinkChange] {
    if linkChanges.isEmpty { return [] }
    defer { linkChanges = [:] }
    return Array(linkChanges.values)
  }
}
