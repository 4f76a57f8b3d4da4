import ObjectModel

extension ObjectRegistry {
  /// Traps in debug builds if objects and pending changes contradict each other; checks only while there are few.
  func assertInvariants() {
    assert(changedObjects.count > 256 || contradictions.isEmpty, contradictions.first ?? "")
  }

  /// Descriptions of all contradictions.
  var findings: [String] {
    contradictions + allObjects.flatMap(contradictions(ofRegistered:))
      + changedObjects.flatMap(contradictionsOfInverses)
  }

  /// Descriptions of contradictions among the objects with changes.
  private var contradictions: [String] {
    var found: [String] = []
    if touchedObjects.contains(where: { !$0.state.isSuperset(of: [.touched, .held]) }) {
      found.append("an object is listed as touched and does not know it")
    }
    if Set(changedObjects.map(ObjectIdentifier.init)).count != changedObjects.count {
      found.append("an object is held twice")
    }
    return found + changedObjects.compactMap(contradiction(of:))
  }

  private func contradiction(of object: ManagedObject) -> String? {
    if registeredObject(for: object.objectID) !== object { return "\(object) is held and not registered" }
    let isRelinked = pending.isRelinked(object.objectID)
    if !object.state.contains(.held) || (object.isFault && !isRelinked) {
      return "\(object) is held and looks as if it were not"
    }
    if object.state.contains(.touched) { return nil }
    if isRelinked {
      return object.state.contains(.updated) ? nil : "\(object) is relinked, and looks as if it were not"
    }
    let change = pending.currentChange(of: object.objectID)
    if object.isDeleted {
      let expected: RowChange.Kind? = object.isInserted ? nil : .delete
      return change?.kind == expected ? nil : "\(object) is deleted, and pending is \(String(describing: change?.kind))"
    }
    guard let change, let row = change.row, let published = object.published else {
      return "\(object) has changes, and nothing is pending for it"
    }
    if (change.kind == .insert) != object.isInserted { return "\(object) is pending as another kind of change" }
    let isSame = row.isIdentical(to: published) && row.isIdentical(to: object.row)
    return isSame ? nil : "\(object) shows other values than are pending"
  }

  private func contradictions(ofRegistered object: ManagedObject) -> [String] {
    let id = object.objectID
    var found: [String] = []
    if registeredObject(for: id) !== object { found.append("\(object) is registered as another") }
    if object.registry !== self { found.append("\(object) is registered and belongs elsewhere") }
    if retainsObjects, !isRetained(object) { found.append("\(object) is registered and not retained") }
    let isListed = object.state.contains(.held)
    if object.hasChanges, !isListed {
      found.append("\(object) has changes and is not held")
    }
    if !isListed, object.published != nil || object.base != nil {
      found.append("\(object) keeps values of old changes")
    }
    if !object.isFault, !object.hasRow { found.append("\(object) is no fault and has no values") }
    return found
  }

  /// Checks that relationships changed here are the same from both ends, if both are in memory.
  private func contradictionsOfInverses(of object: ManagedObject) -> [String] {
    if object.isDeleted || object.isFault || isBehind(object) { return [] }
    return object.entity.properties.flatMap { property -> [String] in
      guard let inverse = property.inverse else { return [] }
      let destinations: [ManagedObjectID]
      if property.storage == .toMany {
        guard let cache = object.toMany?[property.slot], cache.generation == relationships.generation else { return [] }
        destinations = Array(cache.ids)
      } else {
        guard let id = object.row.referenceIfPresent(property.slot) else { return [] }
        // An unchanged relationship may lead to an object that others have changed since.
        if let base = object.base, base.referenceIfPresent(property.slot) == id { return [] }
        destinations = [id]
      }
      return destinations.compactMap(registeredObject).filter { leadsElsewhere($0, inverse, than: object.objectID) }.map
      {
        "\(object) leads to \($0) by \(property.name), which does not lead back by \(inverse.name)"
      }
    }
  }

  /// True if an object that was only relinked here shows other values than the level above has by now.
  private func isBehind(_ object: ManagedObject) -> Bool {
    let id = object.objectID
    guard pending.isRelinked(id) else { return false }
    let above = ancestorsChange(of: id).map(\.row) ?? coordinator.sharedRows.row(for: id)?.row
    return above.map { !$0.changedSlots(from: object.row, layout: layout(of: object)).isEmpty } ?? true
  }

  private func leadsElsewhere(_ object: ManagedObject, _ property: Property, than destination: ManagedObjectID) -> Bool
  {
    // An object that was not changed here shows its fetched values.
    if object.isDeleted || object.isFault || !object.state.contains(.held) || isBehind(object) { return false }
    if property.storage != .toMany {
      let id = object.row.referenceIfPresent(property.slot)
      // One that was not changed here may be older than what a fetch has found from the other end.
      return id != destination && object.base.map { $0.referenceIfPresent(property.slot) != id } ?? true
    }
    guard let cache = object.toMany?[property.slot], cache.generation == relationships.generation else { return false }
    return !cache.ids.contains(destination)
  }
}
