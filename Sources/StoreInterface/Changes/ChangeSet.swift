package import ObjectModel
import Synchronization

/// Changes that were saved together: immutable, passed upwards by reference, found by ID.
package final class ChangeSet: Sendable {
  /// One change per object, in the order of the first touch.
  package let changes: [RowChange]
  /// Inserts that never were objects.
  package let batches: [RowBatch]
  /// Changes of links between objects, one change per link.
  package let links: [LinkChange]
  /// Objects of which nothing has changed but relationships that no column of their rows tells of.
  ///
  /// They count as updated, and have no rows here: who relinks an object need not know its values, and may know old ones.
  package let relinked: [ManagedObjectID]
  /// The number of changed objects.
  package let objectCount: Int
  /// Bytes of memory that the changes keep alive.
  package let byteCount: Int
  /// Tables that are made when they are first asked for.
  private struct Tables {
    /// Positions of changes by ID.
    var positions: [ManagedObjectID: Int]?
    var references: ReferenceIndex?
  }

  private let tables = Mutex(Tables())

  /// True if nothing but inserts is in it.
  package let isAllInserts: Bool
  /// True if any of `changes` is an insert.
  package let hasInserts: Bool
  /// True if any of them is a delete.
  package let hasDeletes: Bool
  /// The keys of `changes` lie between these, so that most look-ups in sets of inserts need no table.
  private let keys: ClosedRange<Int64>
  /// The families of `changes` lie between these.
  private let roots: ClosedRange<UInt16>

  package init(
    _ changes: [RowChange], batches: [RowBatch] = [], links: [LinkChange] = [], relinked: [ManagedObjectID] = []
  ) {
    self.changes = changes
    self.batches = batches
    self.links = links
    self.relinked = relinked
    var summary = Summary()
    for index in changes.indices { summary.add(changes[index]) }
    isAllInserts = summary.isAllInserts
    hasInserts = summary.hasInserts
    hasDeletes = summary.hasDeletes
    keys = summary.lowest...max(summary.lowest, summary.highest)
    roots = summary.lowestRoot...max(summary.lowestRoot, summary.highestRoot)
    objectCount = changes.count + relinked.count + batches.reduce(0) { $0 + $1.count }
    byteCount =
      summary.byteCount + links.count * MemoryLayout<LinkChange>.stride + batches.reduce(0) { $0 + $1.byteCount }
      + relinked.count * MemoryLayout<ManagedObjectID>.stride
  }

  /// Sets that have no object in common as one.
  package convenience init(joining sets: [ChangeSet]) {
    self.init(
      sets.flatMap(\.changes), batches: sets.flatMap(\.batches), links: sets.flatMap(\.links),
      relinked: sets.flatMap(\.relinked))
  }

  private struct Summary {
    var isAllInserts = true
    var hasInserts = false
    var hasDeletes = false
    var byteCount = 0
    var lowest = Int64.max
    var highest = Int64.min
    var lowestRoot = UInt16.max
    var highestRoot = UInt16.min

    mutating func add(_ change: borrowing RowChange) {
      if change.kind == .insert {
        hasInserts = true
      } else {
        isAllInserts = false
        if change.kind == .delete { hasDeletes = true }
      }
      byteCount += change.byteCount
      lowest = min(lowest, change.id.key)
      highest = max(highest, change.id.key)
      lowestRoot = min(lowestRoot, change.id.rootIndex)
      highestRoot = max(highestRoot, change.id.rootIndex)
    }
  }

  package var isEmpty: Bool { objectCount == 0 && links.isEmpty }

  /// The keys of inserts that are no batch's, as runs of keys that follow each other, with their root's index.
  package var insertedKeys: [(root: Int, keys: Range<Int64>)] {
    var runs: [(root: Int, keys: Range<Int64>)] = []
    // By index: a loop over the changes would count references to their rows.
    for index in changes.indices where changes[index].kind == .insert {
      let (root, key) = (Int(changes[index].id.rootIndex), changes[index].id.key)
      if let last = runs.last, last.root == root, last.keys.upperBound == key {
        runs[runs.count - 1].keys = last.keys.lowerBound..<key + 1
      } else {
        runs.append((root, key..<key + 1))
      }
    }
    return runs
  }

  /// The set as a store gets it: without updates that no row has to be written for, and no version to be checked or
  /// raised, and without relinked objects.
  package func withoutUpdates(_ isVoid: (RowChange) -> Bool) -> ChangeSet {
    let hasVoid = !isAllInserts && changes.contains(where: isVoid)
    if !hasVoid && relinked.isEmpty { return self }
    return ChangeSet(hasVoid ? changes.filter { !isVoid($0) } : changes, batches: batches, links: links)
  }

  /// The objects that are deleted.
  package var deletedIDs: [ManagedObjectID] {
    if !hasDeletes { return [] }
    return changes.indices.filter { changes[$0].kind == .delete }.map { changes[$0].id }
  }

  /// The set without some objects, which are looked for one by one.
  package func without(_ isExcluded: (ManagedObjectID) -> Bool) -> ChangeSet {
    var rest = changes.filter { !isExcluded($0.id) }
    var whole: [RowBatch] = []
    for batch in batches {
      let kept = (0..<batch.count).filter { !isExcluded(batch.id(at: $0)) }
      if kept.count == batch.count {
        whole.append(batch)
      } else {
        rest += kept.map { RowChange(.insert, batch.id(at: $0), row: batch.row(at: $0), base: nil) }
      }
    }
    return ChangeSet(rest, batches: whole, relinked: relinked.filter { !isExcluded($0) })
  }

  /// The change of an object, or nil; the first call costs a pass over the changes.
  package func change(of id: ManagedObjectID) -> RowChange? {
    if keys.contains(id.key), roots.contains(id.rootIndex), let change = single(id) { return change }
    for batch in batches {
      if let index = batch.index(of: id) { return RowChange(.insert, id, row: batch.row(at: index), base: nil) }
    }
    return nil
  }

  private func single(_ id: ManagedObjectID) -> RowChange? {
    if changes.count <= 8 { return changes.first { $0.id == id } }
    return position(of: id).map { changes[$0] }
  }

  private func position(of id: ManagedObjectID) -> Int? {
    tables.withLock { tables in
      if let positions = tables.positions { return positions[id] }
      var made = [ManagedObjectID: Int](minimumCapacity: changes.count)
      for (position, change) in changes.enumerated() { made[change.id] = position }
      tables.positions = made
      return made[id]
    }
  }

  /// The objects whose changed rows lead to another; batches excepted. The first call costs a pass over the changes.
  package func owners(ofReferencesTo id: ManagedObjectID, layouts: [RowLayout]) -> [ManagedObjectID] {
    tables.withLock { tables in
      if let references = tables.references { return references.owners(ofReferencesTo: id) }
      var made = ReferenceIndex()
      for index in changes.indices { made.add(changes[index], layouts) }
      tables.references = made
      return made.owners(ofReferencesTo: id)
    }
  }
}

/// The change of one object between two saves, as the receiving level must know it.
package struct RowChange: Sendable {
  package enum Kind: UInt8, Sendable {
    case insert
    case update
    case delete
    /// Inserted and deleted again before it went anywhere: hides an earlier insert of the same set of changes.
    case forget
  }

  package var kind: Kind
  package let id: ManagedObjectID
  /// The new values; nil for a delete.
  package var row: Row?
  /// The values that the change was made against; nil for an insert. Its version is the one a save expects to find.
  ///
  /// The insert of an object that was in the store before has a row of nulls in a save: its versions go on from that
  /// one's, which is later than all that it had, so that who read an earlier one meets a conflict.
  package var base: Row?

  @inlinable package init(_ kind: Kind, _ id: ManagedObjectID, row: Row?, base: Row?) {
    self.kind = kind
    self.id = id
    self.row = row
    self.base = base
  }

  /// True if the row is the one that it was: a relationship that no column of the row tells of has changed.
  package var isEmptyUpdate: Bool {
    kind == .update && row != nil && row?.bufferID == base?.bufferID
  }

  /// The version that its row has once it is stored.
  @inlinable package var version: Int64 { (base?.version ?? 0) + 1 }

  /// Bytes of memory that the change keeps alive.
  package var byteCount: Int { 48 + (row?.byteCount ?? 0) }
}

/// An index of pending changes by the objects that they refer to.
package struct ReferenceIndex: Sendable {
  private var owners: [ManagedObjectID: [ManagedObjectID]] = [:]

  /// Adds a change under the objects that it refers to; it stays there when it later refers to others.
  package init() {}

  package mutating func add(_ change: RowChange, _ layouts: [RowLayout]) {
    guard let row = change.row else { return }
    for reference in layouts[Int(row.entityIndex)].references {
      if let id = row.referenceIfPresent(reference.slot) { owners[id, default: []].append(change.id) }
    }
  }

  package func owners(ofReferencesTo id: ManagedObjectID) -> [ManagedObjectID] { owners[id] ?? [] }
}

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

/// The two objects of a link in a many-to-many relationship.
package struct LinkKey: Hashable, Sendable {
  /// The index of the join table in the model.
  package let table: Int
  package let left: ManagedObjectID
  package let right: ManagedObjectID

  package init(table: Int, left: ManagedObjectID, right: ManagedObjectID) {
    self.table = table
    self.left = left
    self.right = right
  }
}

/// The change of one link of a many-to-many relationship.
///
/// A link is there or not, so a change says what holds now and needs no base: whoever saves later decides, link by
/// link, and two contexts that add different links, or the same one, to the same object are not in conflict.
package struct LinkChange: Sendable {
  package let key: LinkKey
  package let isPresent: Bool
  /// The right object's place among those of the left one; nil to leave it as it is.
  package var order: Int64?
  /// The left object's place among those of the right one; nil to leave it as it is.
  package var inverseOrder: Int64?

  package init(_ key: LinkKey, isPresent: Bool, order: Int64? = nil, inverseOrder: Int64? = nil) {
    self.key = key
    self.isPresent = isPresent
    self.order = order
    self.inverseOrder = inverseOrder
  }

  /// This change and then another of the same link, as one.
  package func followed(by next: LinkChange) -> LinkChange {
    guard isPresent, next.isPresent else { return next }
    var both = next
    both.order = next.order ?? order
    both.inverseOrder = next.inverseOrder ?? inverseOrder
    return both
  }
}

extension LinkChange {
  /// Returns the changes of the link between two objects, seen from one of them: one, and one of its twin after it if
  /// the relationship is its own inverse.
  package static func changes(
    _ table: JoinTable, of property: Property, from object: ManagedObjectID, to destination: ManagedObjectID,
    isPresent: Bool, order: Int64? = nil, inverseOrder: Int64? = nil
  ) -> [LinkChange] {
    func change(
      _ left: ManagedObjectID, _ right: ManagedObjectID, order: Int64?, inverseOrder: Int64?
    ) -> LinkChange {
      LinkChange(
        LinkKey(table: table.index, left: left, right: right), isPresent: isPresent, order: order,
        inverseOrder: inverseOrder)
    }
    if table.isSymmetric {
      return [
        change(object, destination, order: order, inverseOrder: nil),
        change(destination, object, order: inverseOrder, inverseOrder: nil),
      ]
    }
    return property.isLeftEnd
      ? [change(object, destination, order: order, inverseOrder: inverseOrder)]
      : [change(destination, object, order: inverseOrder, inverseOrder: order)]
  }
}

/// A link as one of its objects sees it.
package struct Link: Sendable {
  /// The object at the other end.
  package let destination: ManagedObjectID
  /// Its place among the destinations; nil comes first.
  package let order: Int64?

  package init(destination: ManagedObjectID, order: Int64?) {
    self.destination = destination
    self.order = order
  }
}
