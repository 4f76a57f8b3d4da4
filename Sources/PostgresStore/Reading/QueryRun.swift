import ObjectModel
import SQLGeneration
import StoreInterface

/// The run of one query: rows come in pieces from a cursor, and what SQL could not answer is done with them here.
struct QueryRun {
  private let query: StoreQuery
  private let plan: SelectPlan
  private let connection: Connection
  private let tables: StoredTables
  private let cursors: CursorNames

  /// - Throws: ``ConditionError`` if the query does not fit its entity.
  init(
    _ query: StoreQuery, _ reader: SnapshotReader, isCount: Bool = false
  ) throws {
    self.query = query
    connection = reader.connection
    tables = reader.tables
    cursors = reader.cursors
    plan = try SelectPlan(query, dialect: tables.schema.dialect, isCount: isCount)
  }

  /// Calls the body with what matches, in order, until it returns false.
  func fetch(_ body: (ManagedObjectID, StoredRow?) throws -> Bool) throws {
    if plan.needsMemory { return try memory { try body($0.id, query.wantsRows ? $0.row : nil) } }
    try forEachRow { result, row, decoder in
      try body(
        decoder.id(result, row, ordinal: query.coordinatorOrdinal),
        plan.hasRows ? decoder.row(result, row, ordinal: query.coordinatorOrdinal) : nil)
    }
  }

  /// The number of matching objects.
  func count() throws -> Int {
    if !plan.needsMemory {
      let segment = plan.statement.segment
      return Int(try connection.query(segment.text, segment.bindings).integer(0, 0))
    }
    var count = 0
    try memory { _ in
      count += 1
      return true
    }
    return count
  }

  // MARK: What SQL leaves

  private typealias Match = (id: ManagedObjectID, row: StoredRow)

  /// Tests and sorts the rows that SQL has found, and calls the body with those of the query's window.
  private func memory(_ body: (Match) throws -> Bool) throws {
    var rowCount = 0
    defer { tables.residuals.add(rows: rowCount) }
    let related = RelatedLoader(connection, tables, names: plan.residual?.propertyNames ?? [])
    for sort in plan.sorts { related.follow(sort.keyPath) }
    let objects = related.objects.stoppingWhenCancelled(query.isCancellable)
    let evaluator = try plan.residual.map {
      try ConditionEvaluator($0, entity: query.entity, related: objects)
    }
    var matches: [Match] = []
    var toSkip = plan.offset
    var left = plan.limit.map { max(0, $0) } ?? .max
    if left == 0 { return }
    /// Returns false if no more matches are wanted.
    func accept(_ match: Match) throws -> Bool {
      if toSkip > 0 {
        toSkip -= 1
        return true
      }
      left -= 1
      return try body(match) && left > 0
    }
    try forEachPiece { piece in
      rowCount += piece.count
      related.add(piece)
      for match in piece where try evaluator?.matches(id: match.id, row: match.row.row) ?? true {
        if plan.sorts.isEmpty {
          if try !accept(match) { return false }
        } else {
          matches.append(match)
        }
      }
      return true
    }
    if plan.sorts.isEmpty { return }
    let comparator = try RowComparator(plan.sorts, entity: query.entity, related: objects.row)
    try matches.sort { try comparator.areInIncreasingOrder(($0.id, $0.row.row), ($1.id, $1.row.row)) }
    for match in matches { if try !accept(match) { return } }
  }

  // MARK: Rows

  /// Calls the body with each row of the statement and what decodes it, until it returns false.
  private func forEachRow(_ body: (QueryResult, Int, RowDecoder) throws -> Bool) throws {
    var family = tables.decoder(tables.schema.table(of: query.entity), columns: plan.statement.columns)
    try forEachResult { result in
      for row in 0..<result.rowCount {
        // A row of an entity that the model has no more is not of a queried one.
        if let decoder = family.decoder(result, row), try !body(result, row, decoder) { return false }
      }
      return true
    }
  }

  /// Calls the body with the decoded rows of one result after the other, until it returns false.
  private func forEachPiece(_ body: ([Match]) throws -> Bool) throws {
    var family = tables.decoder(tables.schema.table(of: query.entity), columns: plan.statement.columns)
    let ordinal = query.coordinatorOrdinal
    try forEachResult { result in
      var piece: [Match] = []
      piece.reserveCapacity(result.rowCount)
      for row in 0..<result.rowCount {
        guard let decoder = family.decoder(result, row) else { continue }
        piece.append((decoder.id(result, row, ordinal: ordinal), decoder.row(result, row, ordinal: ordinal)))
      }
      return try body(piece)
    }
  }

  /// Calls the body with the statement's results, a piece of all rows each, until it returns false.
  ///
  /// The body may run statements of its own meanwhile, even the same.
  private func forEachResult(_ body: (QueryResult) throws -> Bool) throws {
    let segment = plan.statement.segment
    if !plan.needsMemory {
      if let most = query.condition?.mostMatches, most <= StoredTables.chunk {
        // In the order of something else the server may go through an index of that.
        let isKept = query.sortDescriptors.isEmpty
        let request = Request(segment.text, Parameters(segment.bindings), isKept: isKept)
        _ = try body(try connection.queryByKey(request))
        return
      }
      if let limit = query.limit, limit <= StoredTables.chunk {
        _ = try body(try connection.query(segment.text, segment.bindings))
        return
      }
    }
    let cursor = cursors.next()
    let fetch = Request("FETCH FORWARD \(StoredTables.chunk) FROM \(cursor)", isKept: false)
    let declare = Request(
      "DECLARE \(cursor) NO SCROLL CURSOR FOR \(segment.text)", Parameters(segment.bindings), isKept: false)
    var result = try connection.pipeline([declare, fetch])[1]
    while try body(result), result.rowCount == StoredTables.chunk {
      result = try connection.pipeline([fetch])[0]
    }
    // If something was thrown it stays open as long as the transaction, which is about to end.
    connection.sendLater("CLOSE \(cursor)")
  }
}

/// The names of the cursors of a transaction, each used once: fetches may lie inside one another.
final class CursorNames {
  private var count = 0

  func next() -> String {
    count += 1
    return "c\(count)"
  }
}

extension Condition {
  /// The most objects that can meet the condition, as far as it names them; nil if it does not.
  fileprivate var mostMatches: Int? {
    switch self {
    case .isIn(.evaluatedObject, let objects, _): objects.count
    case .compare(.evaluatedObject, .equal, .object, _): 1
    case .and(let parts): parts.compactMap(\.mostMatches).min()
    default: nil
    }
  }

  /// The names of all properties in the condition.
  fileprivate var propertyNames: Set<String> {
    var names: Set<String> = []
    collectNames(&names)
    return names
  }

  private func collectNames(_ names: inout Set<String>) {
    switch self {
    case .constant: break
    case .compare(let left, _, let right, _):
      left.collectNames(&names)
      right.collectNames(&names)
    case .between(let operand, _, _), .isIn(let operand, _, _), .isNull(let operand): operand.collectNames(&names)
    case .quantified(_, let inner), .not(let inner): inner.collectNames(&names)
    case .exists(let collection, _, let inner):
      names.formUnion(collection.path)
      inner.collectNames(&names)
    case .and(let parts), .or(let parts): for part in parts { part.collectNames(&names) }
    }
  }
}

extension Operand {
  fileprivate func collectNames(_ names: inout Set<String>) {
    switch self {
    case .value, .object, .evaluatedObject, .variable: break
    case .keyPath(let path), .variablePath(_, let path): names.formUnion(path)
    case .arithmetic(let left, _, let right):
      left.collectNames(&names)
      right.collectNames(&names)
    case .function(_, let inner), .entityName(let inner): inner.collectNames(&names)
    case .aggregate(let aggregation, let collection, let variable, let condition):
      names.formUnion(collection.path)
      aggregation.operand?.collectNames(&names)
      names.formUnion(Condition.exists(collection, variable: variable, condition).propertyNames)
    }
  }
}
