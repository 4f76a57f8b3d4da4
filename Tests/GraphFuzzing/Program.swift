import ObjectModel

/// What a seed makes: a model, contexts on a store, and steps to run in them.
struct Program: Sendable {
  /// One context of the stack; its number is its place in the list.
  struct Place: Sendable {
    /// The parent's number; nil for a root.
    let parent: Int?
    let policy: Policy
    let mergesAutomatically: Bool
    var hasUndo: Bool
    /// What a results controller follows.
    var results: Query?
  }

  enum Policy: String, CaseIterable, Sendable {
    case error
    case mergeByPropertyStoreTrump
    case mergeByPropertyObjectTrump
    case overwrite
    case rollback
  }

  let seed: UInt64
  var schema: Schema
  var isInMemory: Bool
  var places: [Place]
  var steps: [Step] = []

  /// What a context is called: `r0`, `r1` are roots, others are called by the way to them.
  func name(_ context: Int) -> String { (places[context].parent == nil ? "root" : "child") + "\(context)" }
}

/// What happens in one block of one context, and so in one event.
struct Step: Sendable {
  let context: Int
  var actions: [Action]
}

/// One thing that a program does; objects are named by the number that their insert gave them.
enum Action: Sendable {
  case insert(entity: String, number: Int, values: [String: Value])
  case set(Int, String, Value)
  /// Sets a to-one relationship.
  case relate(Int, String, Int?)
  case add(Int, String, Int)
  case remove(Int, String, Int)
  case assign(Int, String, [Int])
  case delete(Int)
  case save
  case fetch(Query)
  /// Compares everything that the context shows with the model: what a new child sees, what its own objects say.
  case look
  case lookAtObjects
  /// Reads an object and holds it.
  case hold(Int)
  case letGo
  case refresh(Int, mergingChanges: Bool)
  case refreshAll
  case rollback
  case reset
  /// Merges the last save of another context, with its values or by its IDs.
  case merge(from: Int, byIDs: Bool)
  case undo
  case redo
  /// Fetches what the context's results controller follows, anew.
  case fetchResults

  /// Whether it must be alone in its block.
  var isWholeEvent: Bool {
    switch self {
    case .insert, .set, .relate, .add, .remove, .assign, .delete: false
    default: true
    }
  }
}

/// A fetch that the model can answer too.
struct Query: Sendable {
  enum Test: Sendable {
    case equal(String, Value)
    case atLeast(String, Value)
    case leadsTo(String, Int?)
    case count(String, Int)
    case any(String, String, Value)
    indirect case not(Test)
    indirect case both(Test, Test)
  }

  var entity: String
  var includesSubentities = true
  var test: Test?
  var sortBy: String?
  var limit: Int?
  var refreshes = false
}

// MARK: - As text

extension Program: CustomStringConvertible {
  /// The program as text that reads like Swift.
  var description: String {
    var lines = ["// seed \(seed), \(isInMemory ? "store in memory" : "SQLite store")"]
    lines += "\(schema)".split(separator: "\n").map { "// " + $0 }
    for (index, place) in places.enumerated() {
      let parent = place.parent.map { "parent: \(name($0))" } ?? "coordinator: coordinator"
      var line = "let \(name(index)) = ManagedObjectContext(\(parent))"
      if place.parent == nil { line += "; \(name(index)).mergePolicy = .\(place.policy.rawValue)" }
      if place.mergesAutomatically { line += "; \(name(index)).automaticallyMergesChangesFromParent = true" }
      if place.hasUndo { line += "; \(name(index)).undoManager = UndoManager()" }
      if let results = place.results { line += "; results of \(name(index)): \(results)" }
      lines.append(line)
    }
    return (lines + steps.map(text)).joined(separator: "\n")
  }

  func text(_ step: Step) -> String {
    "\(name(step.context)) { " + step.actions.map(text).joined(separator: "; ") + " }"
  }

  private func text(_ action: Action) -> String {
    func values(_ values: [String: Value]) -> String {
      values.sorted { $0.key < $1.key }.map { ", \($0.key): \($0.value.literal)" }.joined()
    }
    return switch action {
    case .insert(let entity, let number, let given): "let o\(number) = \(entity)(context: $0\(values(given)))"
    case .set(let object, let name, let value): "o\(object).\(name) = \(value.literal)"
    case .relate(let object, let name, let other): "o\(object).\(name) = \(other.map { "o\($0)" } ?? "nil")"
    case .add(let object, let name, let other): "o\(object).add(o\(other), to: \(name))"
    case .remove(let object, let name, let other): "o\(object).remove(o\(other), from: \(name))"
    case .assign(let object, let name, let others):
      "o\(object).\(name) = [\(others.map { "o\($0)" }.joined(separator: ", "))]"
    case .delete(let object): "$0.delete(o\(object))"
    case .save: "try $0.save()"
    case .fetch(let query): "try $0.fetch(\(query))"
    case .look: "look($0)"
    case .lookAtObjects: "lookAtObjects(of: $0)"
    case .hold(let object): "hold(o\(object))"
    case .letGo: "letGo()"
    case .refresh(let object, let merging): "try $0.refresh(o\(object), mergeChanges: \(merging))"
    case .refreshAll: "$0.refreshAllObjects()"
    case .rollback: "$0.rollback()"
    case .reset: "$0.reset()"
    case .merge(let other, let byIDs):
      byIDs ? "merge IDs of the last save of \(name(other))" : "merge the last save of \(name(other))"
    case .undo: "$0.undo()"
    case .redo: "$0.redo()"
    case .fetchResults: "try results.performFetch(in: $0)"
    }
  }
}

extension Query: CustomStringConvertible {
  var description: String {
    var text = entity + (includesSubentities ? "" : ", without subentities")
    if let test { text += ", \(test)" }
    if let sortBy { text += ", sorted by \(sortBy)" }
    if let limit { text += ", limit \(limit)" }
    if refreshes { text += ", refreshing" }
    return text
  }
}

extension Query.Test: CustomStringConvertible {
  var description: String {
    switch self {
    case .equal(let name, let value): "\(name) == \(value.literal)"
    case .atLeast(let name, let value): "\(name) >= \(value.literal)"
    case .leadsTo(let name, let object): "\(name) == \(object.map { "o\($0)" } ?? "nil")"
    case .count(let name, let count): "\(name).@count >= \(count)"
    case .any(let name, let attribute, let value): "ANY \(name).\(attribute) == \(value.literal)"
    case .not(let test): "NOT (\(test))"
    case .both(let first, let second): "(\(first)) AND (\(second))"
    }
  }
}
