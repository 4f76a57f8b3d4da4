import ObjectModel

/// What a property of an object holds.
enum Cell: Hashable, Sendable {
  case value(Value)
  case reference(Int)
  /// A place in an ordered relationship.
  case place(Double)
}

/// The values of an object by the name of their property; what is nil is not there.
struct Row: Sendable {
  let entity: Int
  var cells: [String: Cell] { didSet { identity = nil } }
  /// Tells rows apart that happen to be equal: what was read is the same row until somebody writes to it.
  var identity: Int?

  /// This row with whatever is different between two others.
  func applying(changesFrom origin: Row, to goal: Row) -> Row {
    var result = self
    for name in Set(origin.cells.keys).union(goal.cells.keys) where origin.cells[name] != goal.cells[name] {
      result.cells[name] = goal.cells[name]
    }
    return result
  }
}

/// What one object has become between two saves of a context.
struct Change: Sendable {
  enum Kind: Sendable {
    case insert
    case update
    case delete
    /// Inserted and deleted before it went anywhere.
    case forgotten
    /// Only relationships changed that are kept elsewhere: what others see are the values of the levels above.
    ///
    /// The object itself shows the row, which it had when it was read; nil if only a child has ever touched it.
    case touch
  }

  var kind: Kind
  var row: Row?
  var base: Row?

  static let foreignTouch = Change(kind: .touch, row: nil, base: nil)
}

struct LinkKey: Hashable, Sendable {
  let relation: Int
  let left: Int
  let right: Int
}

struct LinkState: Equatable, Sendable {
  var isPresent: Bool
  var place: Double?
  var inversePlace: Double?
}

/// Names an object of one context.
struct LastRow: Hashable, Sendable {
  let context: Int
  let number: Int
}

/// What one event did, so that it can be taken back.
struct EventRecord: Sendable {
  struct ObjectChange: Sendable {
    let number: Int
    let before: Row?
    let after: Row?
  }

  struct Link: Sendable {
    let key: LinkKey
    let before: LinkState
    let wasPending: Bool
  }

  var objects: [ObjectChange] = []
  var links: [Link] = []
  /// How many saves of the context came before.
  let saveCount: Int
}

/// What contexts, their stack and the store should hold, in dictionaries; the semantics of the documents in plain code.
///
/// Objects are numbers. It knows nothing of faults, caches and lifetimes: an object that somebody holds shows the
/// values that it was read with, every other one what the levels above say.
struct GraphModel {
  struct Stored: Sendable {
    var row: Row
    /// The number of the save that wrote it.
    var stamp: Int
  }

  /// Who wrote an object, and when.
  struct Commit: Sendable {
    let stamp: Int
    let root: Int
  }

  /// One context.
  struct Scratch: Sendable {
    let parent: Int?
    var changes: [Int: Change] = [:]
    var links: [LinkKey: LinkState] = [:]
    /// The objects that the program holds, with what they show when they have no changes.
    var held: [Int: Row] = [:]
    /// What a merge found stored for objects whose edits it let stand against it; nil for what is deleted there.
    var conflicting: [Int: Row?] = [:]
    /// What has left the context for good; what children do with it later counts as if it still waited here.
    var departed: Set<Int> = []
    /// What the undo manager remembers, the last event last.
    var undoStack: [EventRecord] = []
    var redoStack: [EventRecord] = []
    var saveCount = 0
    /// What was deleted by this event, with its last values.
    var departing: [(number: Int, row: Row, wasInserted: Bool)] = []
    /// Whether to-many relationships of objects in memory may have been read before something above changed.
    var mayBeStale = false
  }

  let schema: Schema
  let places: [Program.Place]
  var contexts: [Scratch]
  var rows: [Int: Stored] = [:]
  var storedLinks: [LinkKey: LinkState] = [:]
  /// By object; a delete counts too.
  var commits: [Int: [Commit]] = [:]
  /// The save that stored a row, by the row's identity.
  var stamps: [Int: Int] = [:]
  private var lastIdentity = 0
  private var lastPlace = 0.0
  var lastStamp = 0
  /// What each object was inserted as.
  var entities: [Int: Int] = [:]
  /// What each context's last save told of.
  var lastSaves: [Int: [Int: Change]] = [:]
  /// The values that objects had when they were deleted, until the save.
  var lastRows: [LastRow: Row] = [:]
  /// The objects and links that this event wrote to, and what they were before it.
  var event: [Int: Row?] = [:]
  var eventLinks: [LinkKey: EventRecord.Link] = [:]
  /// What was gone in the context before the event.
  var goneBefore: Set<Int> = []
  /// The objects whose relationships changed in this event, and that may be marked as updated for it.
  var related: Set<Int> = []

  init(_ program: Program) {
    schema = program.schema
    places = program.places
    contexts = program.places.map { Scratch(parent: $0.parent) }
  }

  mutating func drawIdentity() -> Int {
    lastIdentity += 1
    return lastIdentity
  }

  mutating func drawPlace() -> Double {
    lastPlace += 1
    return lastPlace
  }

  mutating func identified(_ row: Row) -> Row {
    if row.identity != nil { return row }
    var row = row
    row.identity = drawIdentity()
    return row
  }
}

// MARK: - What a context sees

extension GraphModel {
  /// The contexts above one, nearest first.
  func ancestors(of context: Int) -> [Int] {
    contexts[context].parent.map { [$0] + ancestors(of: $0) } ?? []
  }

  func root(of context: Int) -> Int { ancestors(of: context).last ?? context }

  /// The values that the levels above a context have.
  func rowAbove(_ number: Int, _ context: Int) -> Row? {
    for ancestor in ancestors(of: context) {
      if let change = valueChange(number, ancestor) { return change.row }
    }
    return rows[number]?.row
  }

  /// A context's change of an object, if it changes more than relationships.
  func valueChange(_ number: Int, _ context: Int) -> Change? {
    contexts[context].changes[number].flatMap { $0.kind == .touch ? nil : $0 }
  }

  /// The values that a fetch in the context finds.
  func fetched(_ number: Int, _ context: Int) -> Row? {
    if let change = valueChange(number, context) { return change.row }
    return rowAbove(number, context)
  }

  /// The values that the context's own object shows: those that it was read with, if only its links have changed.
  func shown(_ number: Int, _ context: Int) -> Row? {
    if let change = valueChange(number, context) { return change.row }
    return contexts[context].held[number] ?? contexts[context].changes[number]?.row ?? rowAbove(number, context)
  }

  /// All objects that a fetch in the context finds.
  func all(_ context: Int) -> [Int: Row] {
    var found = rows.mapValues(\.row)
    for level in ancestors(of: context).reversed() + [context] {
      for (number, change) in contexts[level].changes where change.kind != .touch { found[number] = change.row }
    }
    return found
  }

  /// The links of a relation, those that lead to objects which the context itself has deleted included: what is gone
  /// above has no links there, whoever below still has changes of it.
  func links(of relation: Int, _ context: Int) -> [LinkKey: LinkState] {
    var found = storedLinks.filter { $0.key.relation == relation }
    for level in ancestors(of: context).reversed() + [context] {
      for (key, link) in contexts[level].links where key.relation == relation {
        if link.isPresent {
          found[key] = LinkState(
            isPresent: true, place: link.place ?? found[key]?.place,
            inversePlace: link.inversePlace ?? found[key]?.inversePlace)
        } else {
          found[key] = nil
        }
      }
      if level == context { continue }
      found = found.filter { !isDeleted($0.key.left, level) && !isDeleted($0.key.right, level) }
    }
    return found
  }

  /// True if a delete waits in a context, or cancelled an insert there.
  func isDeleted(_ number: Int, _ context: Int) -> Bool {
    valueChange(number, context).map { $0.row == nil } ?? false
  }

  /// The links that a context has to save: those of objects that were deleted before a save are gone with them.
  func changedLinks(_ context: Int) -> [LinkKey: LinkState] {
    let changes = contexts[context].changes
    return contexts[context].links.filter {
      changes[$0.key.left]?.kind != .forgotten && changes[$0.key.right]?.kind != .forgotten
    }
  }

  /// The destinations of a to-many relationship, in its order if it has one, as a fetch finds them.
  func destinations(_ number: Int, _ end: Schema.End, _ context: Int) -> [Int] {
    if end.storage != .links { return destinations(number, end, all(context), [:]) { _ in false } }
    // A link that waits here may lead to what others have deleted in the store: the save finds out.
    let levels = [context] + ancestors(of: context)
    return destinations(number, end, all(context), links(of: end.relation, context)) { other in
      commits[other] != nil && !levels.contains { valueChange(other, $0) != nil }
    }
  }

  func destinations(
    _ number: Int, _ end: Schema.End, _ all: [Int: Row], _ links: [LinkKey: LinkState],
    isLost: (Int) -> Bool = { _ in false }
  ) -> [Int] {
    func exists(_ other: Int) -> Bool { all[other] != nil || isLost(other) }
    var found: [(number: Int, place: Double?)] = []
    switch end.storage {
    case .reference: break
    case .references:
      guard let inverse = end.inverse.map({ schema.ends[$0] }) else { break }
      for (other, row) in all where row.cells[inverse.name] == .reference(number) {
        guard schema.isKind(row.entity, of: end.destination) else { continue }
        if case .place(let place)? = inverse.placeName.flatMap({ row.cells[$0] }) {
          found.append((other, place))
        } else {
          found.append((other, nil))
        }
      }
    case .links:
      for (key, link) in links {
        if end.isLeft, key.left == number, exists(key.right) { found.append((key.right, link.place)) }
        if !end.isLeft, key.right == number, exists(key.left) { found.append((key.left, link.inversePlace)) }
      }
    }
    let isOrdered = end.shape.isOrdered
    return found.sorted {
      isOrdered && $0.place != $1.place ? ($0.place ?? -1) < ($1.place ?? -1) : $0.number < $1.number
    }.map(\.number)
  }
}
