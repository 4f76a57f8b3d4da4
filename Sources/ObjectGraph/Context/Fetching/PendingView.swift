import ObjectModel

/// A context's view at one moment: a store's state under the pending changes of the context and its ancestors.
final class PendingView {
  let reader: any StoreReader
  /// The pending changes of the context and its ancestors, nearest first; of each the newest layer first.
  let levels: [[Pending]]
  private let coordinator: PersistentStoreCoordinator
  /// The number of the pin under which the store is read, if there is one.
  let pinNumber: UInt32?
  private let usesRowCache: Bool
  /// The levels' changes to a family by the index of its root, made when first needed.
  private var overlays: [Int: Overlay] = [:]

  init(
    _ coordinator: PersistentStoreCoordinator, reader: any StoreReader, levels: [[Pending]], pinNumber: UInt32? = nil,
    usesRowCache: Bool = true
  ) {
    self.coordinator = coordinator
    self.pinNumber = pinNumber
    self.usesRowCache = usesRowCache && pinNumber == nil
    self.reader = reader
    self.levels = levels
  }

  func overlay(of root: Entity) -> Overlay {
    if let overlay = overlays[root.index] { return overlay }
    var overlay = Overlay()
    for layers in levels { overlay.add(layers, root: root, layouts: coordinator.layouts) }
    overlays[root.index] = overlay
    return overlay
  }

  /// Returns the row of any object, or nil if it does not exist.
  func row(for id: ManagedObjectID) throws -> Row? {
    switch pendingChange(of: id) {
    case .some(let change): change.row
    case nil: try ((usesRowCache ? coordinator.sharedRows.row(for: id) : nil) ?? reader.row(for: id))?.row
    }
  }

  private func pendingChange(of id: ManagedObjectID) -> RowChange? {
    for layers in levels {
      if let change = layers[...].change(of: id, layouts: coordinator.layouts) { return change }
    }
    return nil
  }

  /// Returns an object's links to objects that exist, in their order, otherwise by key.
  ///
  /// - Parameter includingDeleted: true to include links to objects whose delete is pending.
  func links(of id: ManagedObjectID, _ property: Property, includingDeleted: Bool = false) throws -> [Link] {
    guard let table = property.joinTable else { return [] }
    var links: [ManagedObjectID: Link] = [:]
    if !coordinator.keys.isTemporary(id) {
      for link in try reader.links(of: id, property) { links[link.destination] = link }
    }
    for (distance, layers) in levels.enumerated().reversed() {
      for layer in layers.reversed() {
        for change in layer.links.values where change.key.table == table.index {
          let key = change.key
          guard (property.isLeftEnd ? key.left : key.right) == id else { continue }
          let destination = property.isLeftEnd ? key.right : key.left
          let order = property.isLeftEnd ? change.order : change.inverseOrder
          links[destination] =
            change.isPresent ? Link(destination: destination, order: order ?? links[destination]?.order) : nil
        }
      }
      // An object deleted above has no links there, even if a level below has changes of it.
      if distance > 0, !links.isEmpty, layers.contains(where: \.hasDeletes) {
        links = layers.isGone(id) ? [:] : links.filter { !layers.isGone($0.key) }
      }
    }
    return links.values.filter { link in
      if includingDeleted { return true }
      // An object neither pending nor stored was dropped before it was saved.
      guard let change = pendingChange(of: link.destination) else {
        return !coordinator.keys.isTemporary(link.destination)
      }
      return change.row != nil
    }.sorted { left, right in
      (left.order ?? .min, left.destination.key) < (right.order ?? .min, right.destination.key)
    }
  }

  /// Returns the destinations of a to-many relationship with their rows.
  func destinations(of id: ManagedObjectID, _ property: Property) throws -> [(id: ManagedObjectID, row: Row)] {
    if property.joinTable != nil {
      var found: [(id: ManagedObjectID, row: Row)] = []
      for link in try links(of: id, property) {
        if let row = try row(for: link.destination) { found.append((link.destination, row)) }
      }
      return found
    }
    guard let destination = property.destination, let inverse = property.inverse else { return [] }
    let overlay = overlay(of: destination.root)
    var found: [(id: ManagedObjectID, row: Row)] = []
    if !coordinator.keys.isTemporary(id) {
      let query = StoreQuery(
        entity: destination, condition: .leads(inverse, to: id), coordinatorOrdinal: coordinator.ordinal)
      try reader.fetch(query) { id, row in
        if let row, !overlay.contains(id) { found.append((id, row.row)) }
        return true
      }
    }
    let family = Set(destination.withDescendants.map { UInt16(truncatingIfNeeded: $0.index) })
    for other in overlay.order {
      guard let row = overlay.changes[other]?.row, family.contains(row.entityIndex) else { continue }
      if row.referenceIfPresent(inverse.slot) == id { found.append((other, row)) }
    }
    for batch in overlay.batches where family.contains(batch.layout.entityIndex) {
      for index in 0..<batch.count where overlay.changes[batch.id(at: index)] == nil {
        let row = batch.copy(of: index)
        if row.referenceIfPresent(inverse.slot) == id { found.append((batch.id(at: index), row)) }
      }
    }
    return found
  }
}

/// The pending changes of a context and its ancestors to one family's rows; the nearest context's change wins.
struct Overlay {
  private(set) var changes: [ManagedObjectID: RowChange] = [:]
  /// The objects of `changes` in the order in which they came.
  private(set) var order: [ManagedObjectID] = []
  /// Packed inserts; `changes` override their rows.
  private(set) var batches: [RowBatch] = []

  var isEmpty: Bool { changes.isEmpty && batches.isEmpty }

  /// True if the overlay, and not the store, has the object's values.
  func contains(_ id: ManagedObjectID) -> Bool {
    changes[id] != nil || batches.contains { $0.index(of: id) != nil }
  }

  /// The maximum number of objects in the overlay.
  var objectCount: Int { changes.count + batches.reduce(0) { $0 + $1.count } }

  /// Returns the shared row of a packed insert, which will get its version; nil for other objects.
  func lastingRow(of id: ManagedObjectID) -> Row? {
    if changes[id] != nil { return nil }
    for batch in batches {
      if let index = batch.index(of: id) { return batch.row(at: index) }
    }
    return nil
  }

  /// Adds the changes of a context further away than those added before.
  ///
  /// - Parameter layers: the context's pending changes, newest first.
  mutating func add(_ layers: [Pending], root: Entity, layouts: [RowLayout]) {
    for (index, layer) in layers.enumerated() {
      let older = layers[(index + 1)...]
      layer.forEachChange(root: root) { change in
        guard changes[change.id] == nil else { return }
        changes[change.id] = older.change(under: change, layouts: layouts)
        order.append(change.id)
      }
      batches += layer.batches(root: root)
    }
  }
}
