import ObjectModel
import StoreInterface

/// The changes of a save in the groups that one statement writes.
struct Writes {
  /// Updates of one entity that change the same values.
  struct Updates {
    let entityIndex: UInt16
    let slots: [Int]
    var changes: [RowChange]
  }

  /// New rows of one entity.
  struct Inserts {
    let entityIndex: UInt16
    var changes: [RowChange]
  }

  let sets: [ChangeSet]
  /// By the index of the family's root.
  private(set) var deletes: [(root: Int, changes: [RowChange])] = []
  private(set) var updates: [Updates] = []
  private(set) var inserts: [Inserts] = []
  /// By the index of the join table.
  private(set) var links: [(table: Int, changes: [LinkChange])] = []

  private struct Form: Hashable {
    let entityIndex: UInt16
    let slots: [Int]
  }

  init(_ sets: [ChangeSet], _ model: ManagedObjectModel) {
    self.sets = sets
    let layouts = model.entities.map(RowLayout.init)
    var deletes: [Int: [RowChange]] = [:]
    var updates: [Form: Int] = [:]
    var inserts: [UInt16: Int] = [:]
    for set in sets {
      for change in set.changes {
        switch change.kind {
        case .delete: deletes[Int(change.id.rootIndex), default: []].append(change)
        case .update:
          guard let row = change.row else { continue }
          let layout = layouts[Int(row.entityIndex)]
          let slots = change.base.map { row.changedSlots(from: $0, layout: layout) } ?? Array(0..<layout.slotCount)
          let form = Form(entityIndex: row.entityIndex, slots: slots)
          if let place = updates[form] {
            self.updates[place].changes.append(change)
          } else {
            updates[form] = self.updates.count
            self.updates.append(Updates(entityIndex: row.entityIndex, slots: slots, changes: [change]))
          }
        case .insert:
          guard let row = change.row else { continue }
          if let place = inserts[row.entityIndex] {
            self.inserts[place].changes.append(change)
          } else {
            inserts[row.entityIndex] = self.inserts.count
            self.inserts.append(Inserts(entityIndex: row.entityIndex, changes: [change]))
          }
        case .forget: break
        }
      }
    }
    self.deletes = deletes.sorted { $0.key < $1.key }.map { (root: $0.key, changes: $0.value) }
    links = Self.links(sets)
  }

  /// True if a change may give up a unique value that another one takes.
  func mayMoveUniqueValues(_ plan: WritingPlan) -> Bool {
    if deletes.isEmpty && updates.isEmpty { return false }
    return updates.contains { plan.writer($0.entityIndex).hasUniqueValues(in: $0.slots) }
      || inserts.contains { plan.writer($0.entityIndex).hasUniqueValues }
  }

  var batches: [RowBatch] { sets.flatMap(\.batches) }

  /// The last change of each link, by the index of the join table.
  private static func links(_ sets: [ChangeSet]) -> [(table: Int, changes: [LinkChange])] {
    var places: [LinkKey: Int] = [:]
    var changes: [LinkChange] = []
    for change in sets.lazy.flatMap(\.links) {
      if let place = places[change.key] {
        changes[place] = changes[place].followed(by: change)
      } else {
        places[change.key] = changes.count
        changes.append(change)
      }
    }
    return Dictionary(grouping: changes, by: \.key.table).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}

/// Statements that run with one wait, some of which return the keys of the changes that they have written.
struct PipelinedSteps {
  /// True to find out with the same wait whether the store keeps a history.
  var asksForHistory = false
  private var requests: [Request] = []
  private var expected: [(result: Int, changes: [RowChange])] = []

  mutating func add(_ requests: [Request]) { self.requests += requests }

  /// Adds statements of which the last one returns the keys of the rows that had the expected versions.
  mutating func expect(_ changes: [RowChange], _ requests: [Request]) {
    self.requests += requests
    expected.append((self.requests.count - 1, changes))
  }

  /// Runs the statements and returns the changes whose rows were not found as expected.
  ///
  /// - Parameter learn: called with whether the store keeps a history, if that is asked for.
  func run(_ connection: Connection, _ learn: (Bool) -> Void) throws(StoreError) -> [RowChange] {
    if requests.isEmpty { return [] }
    let question = asksForHistory ? [Request(HistorySchema.presenceSQL)] : []
    var results = try connection.pipeline(requests + question)
    if asksForHistory, let answer = results.popLast() { learn(answer.rowCount > 0) }
    var missed: [RowChange] = []
    for (place, changes) in expected where results[place].rowCount < changes.count {
      let result = results[place]
      let written = Set((0..<result.rowCount).map { result.integer($0, 0) })
      missed += changes.filter { !written.contains($0.id.key) }
    }
    return missed
  }
}
