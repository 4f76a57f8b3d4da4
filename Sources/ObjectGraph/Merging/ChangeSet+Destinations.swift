package import ObjectModel

extension [ChangeSet] {
  /// Objects that these changes let references or links lead to, without those that they insert.
  ///
  /// A store that lacks one of them must not save the changes: they would lead nowhere. Cost: a look at each changed
  /// reference; nothing in models without relationships.
  package func newDestinations(_ model: ManagedObjectModel) -> Set<ManagedObjectID> {
    let references = model.entities.map { entity in
      entity.properties.filter { $0.storage == .reference && $0.isPersistent }.map(\.slot)
    }
    var destinations: Set<ManagedObjectID> = []
    if references.contains(where: { !$0.isEmpty }) {
      for set in self { set.addDestinations(references, to: &destinations) }
    }
    for set in self {
      for link in set.links where link.isPresent { destinations.formUnion([link.key.left, link.key.right]) }
    }
    return destinations.filter { id in !contains { $0.change(of: id)?.kind == .insert } }
  }
}

extension ChangeSet {
  fileprivate func addDestinations(_ references: [[Int]], to destinations: inout Set<ManagedObjectID>) {
    // By index: a loop over the changes would count references to their rows.
    for index in changes.indices where changes[index].kind != .delete {
      guard let row = changes[index].row else { continue }
      for slot in references[Int(row.entityIndex)] {
        let former = changes[index].base?.referenceIfPresent(slot)
        if let id = row.referenceIfPresent(slot), id != former { destinations.insert(id) }
      }
    }
  }
}

extension StoreConflict {
  /// A conflict about an object that the changes lead to, and that is not stored any more.
  package init(missingDestination id: ManagedObjectID) {
    self.init(RowChange(.update, id, row: nil, base: nil), stored: nil, .missingDestination)
  }

  /// A conflict about an object that would be left with a reference to a deleted one.
  ///
  /// - Parameter stored: its row, if the save changes nothing else of it.
  package init(leadingToDeleted id: ManagedObjectID, stored: StoredRow?) {
    self.init(RowChange(.update, id, row: nil, base: nil), stored: stored, .leadsToDeleted)
  }

  var isMissingDestination: Bool { reason == .missingDestination }
}
