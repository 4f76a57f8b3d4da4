import Jobs
import ObjectGraph
import SystemSupport
import TextSupport

/// A query for objects of the operator's entities, checked against the model.
///
/// It reads what is on disk, past all contexts, so that it holds up neither main nor workers.
struct ObjectQuery: Sendable {
  /// The most to-many objects that are shown of an object, unless fewer are asked for.
  static let relatedLimit = 1_000
  /// The largest limit of binary values in base64, in bytes.
  static let inlineLimit = 64 << 10

  let entity: Entity
  /// As it was written, and resolved for the entity; nil for all objects.
  private(set) var condition: Condition?
  private(set) var sorts: [ResolvedSort] = []
  /// The relationships whose objects are shown with their values.
  private(set) var expanded: [Property] = []
  /// The most objects of a to-many relationship.
  var relatedLimit = 20
  /// The largest binary value that is shown in base64, in bytes; larger ones are links.
  var inlineLimit = 0
  /// The hash that identifies the query, so that its cursors are not taken for those of others.
  private(set) var identity = StableHash()

  init(_ entity: Entity) {
    self.entity = entity
    identity.combine(entity.name.utf8)
  }

  /// Finds an entity whose objects may be queried.
  ///
  /// - Throws: ``ObjectQueryError`` if there is none, or it is for the daemon alone.
  static func entity(named name: String, in model: ManagedObjectModel) throws(ObjectQueryError) -> Entity {
    let entities = readable(in: model)
    if let entity = entities.first(where: { $0.name == name }) { return entity }
    if BuiltInModel.entityNames.contains(name) {
      throw ObjectQueryError(
        .noEntity, "\(name) is one of Bobbin's own records, which tell of the last save and not of now",
        hint: "GET /v1/jobs and `bobbinctl list` show jobs as they are")
    }
    let nearest = NearestName.find(name, in: entities.map(\.name))
    throw ObjectQueryError(
      .noEntity, "there is no entity \"\(displayName(name))\"" + (nearest.map { "; did you mean \"\($0)\"?" } ?? ""),
      hint: entities.isEmpty
        ? "no job has an entity to write to; `bobbinctl model infer` makes a model of a table"
        : "there are \(entities.prefix(10).map { displayName($0.name) }.joined(separator: ", "))"
          + (entities.count > 10 ? ", and \(entities.count - 10) more, which GET /v1/entities lists" : ""))
  }

  /// The entities whose objects may be queried: those that jobs write, and what they inherit from.
  static func readable(in model: ManagedObjectModel) -> [Entity] {
    model.entities.filter {
      BuiltInModel.pictureEntityNames.contains($0.name) || !BuiltInModel.entityNames.contains($0.name)
    }
  }

  /// Selects the objects that meet a predicate.
  ///
  /// - Throws: ``ObjectQueryError`` with the column of the mistake, as far as it is known.
  mutating func select(_ predicate: String) throws(ObjectQueryError) {
    do {
      let read = try Condition(format: predicate)
      if read.hasPattern {
        throw ConditionError(
          .unsupported, "a regular expression may take for ever; use LIKE, CONTAINS or BEGINSWITH",
          fragment: "MATCHES")
      }
      condition = try read.resolved(for: entity)
      identity.combine("?\(predicate)".utf8)
    } catch {
      throw ObjectQueryError(predicate: predicate, error)
    }
  }

  /// Sorts by properties, the most important first; one behind a minus sign has its largest value first.
  mutating func sort(by names: [String]) throws(ObjectQueryError) {
    for name in names {
      let isAscending = !name.hasPrefix("-")
      let path = String(isAscending ? name[...] : name.dropFirst())
      let sort = ResolvedSort(
        keyPath: path.split(separator: ".", omittingEmptySubsequences: false).map(String.init), isAscending: isAscending
      )
      do { _ = try sort.propertyPath(from: entity) } catch {
        throw ObjectQueryError(.badRequest, "sort: \((error as? ConditionError)?.message ?? "\(error)")")
      }
      sorts.append(sort)
      identity.combine("&\(name)".utf8)
    }
  }

  /// Has relationships shown with the values of their objects.
  mutating func expand(_ names: [String]) throws(ObjectQueryError) {
    for name in names where !expanded.contains(where: { $0.name == name }) {
      let relationships = Self.shownProperties(of: entity).filter { $0.relationship != nil }
      guard let property = relationships.first(where: { $0.name == name }) else {
        let nearest = NearestName.find(name, in: relationships.map(\.name)).map { "; did you mean \"\($0)\"?" } ?? ""
        throw ObjectQueryError(
          .badRequest, "expand: \(entity.name) has no relationship \"\(displayName(name))\"\(nearest)")
      }
      expanded.append(property)
    }
  }

  /// The properties that are shown of an entity's objects, its descendants' included, each name once.
  static func shownProperties(of entity: Entity) -> [Property] {
    var known: Set<String> = []
    return entity.withDescendants.flatMap(\.properties).filter { property in
      !property.isHidden && !property.isTransient && known.insert(property.name).inserted
    }
  }
}

/// The reason why a query for objects can't be answered.
struct ObjectQueryError: Error {
  enum Code { case noEntity, badRequest, badPredicate, tooSlow }

  let code: Code
  let message: String
  var hint: String?
  /// The column of the mistake in the predicate, in characters from 1.
  var column: Int?

  init(_ code: Code, _ message: String, hint: String? = nil) {
    (self.code, self.message, self.hint) = (code, message, hint)
  }

  /// A predicate that can't be read, or does not fit its entity.
  fileprivate init(predicate: String, _ error: any Error) {
    guard let error = error as? ConditionError else {
      self.init(.badPredicate, "\(error)")
      return
    }
    // What the text says is right, but its names or types are not: those errors know no column.
    let place = error.column ?? error.fragment.flatMap { Self.column(of: $0, in: predicate) }
    let text = error.fragment.map { ": \($0)" } ?? ""
    self.init(.badPredicate, error.message + text)
    column = place
  }

  /// The column at which a part of a predicate begins, where it is not a part of a longer word.
  private static func column(of fragment: String, in predicate: String) -> Int? {
    var rest = predicate[...]
    while let range = rest.range(of: fragment) {
      let before = predicate[..<range.lowerBound].last, after = predicate[range.upperBound...].first
      if !(before.isPartOfName || after.isPartOfName) {
        return predicate.distance(from: predicate.startIndex, to: range.lowerBound) + 1
      }
      rest = predicate[range.upperBound...]
    }
    return nil
  }
}

extension Character? {
  fileprivate var isPartOfName: Bool { self.map { $0.isLetter || $0.isNumber || $0 == "_" } ?? false }
}

extension Condition {
  /// True if a regular expression is a part of it.
  fileprivate var hasPattern: Bool {
    switch self {
    case .constant: false
    case .compare(_, .matches, _, _): true
    case .compare(let left, _, let right, _): left.hasPattern || right.hasPattern
    case .between(let operand, let lower, let upper): [operand, lower, upper].contains(where: \.hasPattern)
    case .isIn(let operand, let list, _): operand.hasPattern || list.contains(where: \.hasPattern)
    case .isNull(let operand): operand.hasPattern
    case .quantified(_, let inner), .exists(_, _, let inner), .not(let inner): inner.hasPattern
    case .and(let parts), .or(let parts): parts.contains(where: \.hasPattern)
    }
  }
}

extension Operand {
  fileprivate var hasPattern: Bool {
    switch self {
    case .value, .object, .evaluatedObject, .keyPath, .variable, .variablePath: false
    case .arithmetic(let left, _, let right): left.hasPattern || right.hasPattern
    case .function(_, let inner), .entityName(let inner): inner.hasPattern
    case .aggregate(_, _, _, let condition): condition.hasPattern
    }
  }
}
