import Jobs
import ObjectGraph
import ObjectModel

/// Writes chunks within transactions, and knows how far the import is.
struct ChunkWriter {
  private let plan: ImportPlan
  private let records: ImportRecords
  var cursor: ImportCursor
  /// The first bad record of this attempt.
  private var firstReject: RejectedRecord?
  /// Bad records, as far as a transaction that fails because of them is to tell them.
  private(set) var rejects: [RejectedRecord] = []
  /// The objects that the records have the keys of, if others are to be deleted.
  private var seen: SeenKeys?

  private let isAtomic: Bool

  /// - Parameter isAtomic: whether all chunks are in one transaction.
  init(_ plan: ImportPlan, _ records: ImportRecords, from cursor: ImportCursor, isAtomic: Bool = false) {
    self.isAtomic = isAtomic
    self.plan = plan
    self.records = records
    self.cursor = cursor
    if plan.mode == .mirror { seen = SeenKeys() }
  }

  /// Objects of the entity before the import; known where it deletes some.
  private var objectsBefore: Int64 = 0

  /// Writes a chunk with its rejects; ``save(_:)`` has to follow in the same transaction.
  mutating func write(_ chunk: ImportChunk, _ transaction: inout PackedTransaction) throws {
    var chunk = chunk
    try resolve(&chunk, &transaction)
    if chunk.count > 0 {
      let result = try transaction.write(
        chunk.columns, count: chunk.count, of: plan.entity, key: plan.key, onConflict: plan.conflict)
      note(result, &chunk)
    }
    chunk.rejects.sort { $0.byteOffset < $1.byteOffset }
    try records.add(chunk.rejects, &transaction)
    if firstReject == nil { firstReject = chunk.rejects.first }
    cursor.counts.rejects += Int64(chunk.rejects.count)
    cursor.position = chunk.end
    if isAtomic { rejects += chunk.rejects.prefix(Survey.keptCount - rejects.count) }
  }

  /// - Throws: ``TooManyRejects``.
  func checkLimit(_ limit: RejectLimit, _ path: String) throws(TooManyRejects) {
    guard limit.isExceeded(by: cursor.counts.rejects, of: cursor.counts.records), let firstReject else { return }
    var error = TooManyRejects(cursor, first: firstReject, path)
    error.kept = rejects
    throw error
  }

  private mutating func note(_ result: PackedResult, _ chunk: inout ImportChunk) {
    cursor.counts.inserted += Int64(result.count(of: .inserted))
    cursor.counts.updated += Int64(result.count(of: .updated))
    cursor.counts.unchanged += Int64(result.count(of: .unchanged))
    cursor.counts.skipped += Int64(result.count(of: .skipped))
    if plan.mode.isRevertible { cursor.note(result.insertedKeys) }
    if seen != nil {
      for (outcome, key) in zip(result.outcomes, result.keys) where outcome != .violated { seen?.insert(key) }
    }
    for violation in result.violations {
      let column = plan.label(of: violation.properties)
      if let reject = chunk.origins?.reject(violation.row, column: column, rule: PackedResult.rule, violation.message) {
        chunk.rejects.append(reject)
      }
    }
  }

  /// Turns the values of relationships into references.
  private func resolve(_ chunk: inout ImportChunk, _ transaction: inout PackedTransaction) throws {
    if chunk.lookups.isEmpty { return }
    var isKept = [Bool](repeating: true, count: chunk.count)
    for (column, values) in chunk.lookups {
      guard let resolver = RelationshipResolver(column) else { continue }
      let (ids, lacking) = try resolver.resolve(values, count: chunk.count, &transaction)
      for row in lacking where isKept[row] {
        isKept[row] = false
        if let reject = chunk.origins?.reject(
          row, column: column.label, rule: RelationshipResolver.rule, resolver.message(values, row))
        {
          chunk.rejects.append(reject)
        }
      }
      chunk.columns.append(.references(ids, slot: column.property.slot, givenBits: values.givenBits))
      if let order = column.property.orderProperty {
        let first = transaction.coordinator.drawOrders(chunk.count)
        chunk.columns.append(
          RowBatch.Column(
            slot: order.slot, values: .integers((0..<chunk.count).map { first + Int64($0) << 10 }),
            givenBits: values.givenBits))
      }
    }
    chunk.columns.sort { $0.slot < $1.slot }
    if isKept.contains(false) { chunk.keep(isKept) }
  }

  /// Deletes the objects of the entity that no record has the key of; none if a record is bad, since it may be of one.
  mutating func deleteUnseen(_ transaction: inout PackedTransaction) throws {
    guard let seen, cursor.counts.rejects == 0 else { return }
    let stored = try transaction.keys(of: plan.entity)
    objectsBefore = Int64(stored.count) - cursor.counts.inserted
    cursor.counts.deleted += Int64(try transaction.delete(stored.filter { !seen.contains($0) }, of: plan.entity))
  }

  /// Deletes all objects of the entity.
  mutating func deleteAll(_ transaction: inout PackedTransaction) throws {
    let stored = try transaction.keys(of: plan.entity)
    objectsBefore = Int64(stored.count)
    cursor.counts.deleted += Int64(try transaction.delete(stored, of: plan.entity))
  }

  /// Refuses to delete more objects than the job allows, and all of them because of an empty input.
  func checkDeletes() throws {
    let (deleted, records) = (cursor.counts.deleted, cursor.counts.records)
    if let problem = plan.problem(deleting: deleted, of: objectsBefore, records: records) { throw JobFailure(problem) }
  }

  /// Saves how far the import is.
  func save(_ transaction: inout PackedTransaction) throws {
    try records.save(
      cursor, header: plan.header, form: plan.form, rejects: cursor.counts.rejects, &transaction)
  }
}

extension ImportPlan {
  /// Returns the input's names of properties; nil if there are none.
  func label(of properties: [String]) -> String? {
    if properties.isEmpty { return nil }
    return properties.map { name in columns.first { $0.property.name == name }?.label ?? name }.joined(separator: ", ")
  }

  /// The treatment of a record whose key exists.
  var conflict: PackedConflict {
    switch mode {
    case .insert, .replaceAll: .violation
    case .skip: .skip
    case .update, .mirror: .update
    }
  }
}

/// The objects that an import has met, a bit for each.
struct SeenKeys {
  private var blocks: [Int64: [UInt64]] = [:]
  private static let blockBits: Int64 = 1 << 16

  var count: Int { blocks.values.reduce(0) { $0 + $1.reduce(0) { $0 + $1.nonzeroBitCount } } }

  mutating func insert(_ key: Int64) {
    let (block, bit) = Self.place(key)
    blocks[block, default: [UInt64](repeating: 0, count: Int(Self.blockBits) / 64)][bit >> 6] |= 1 << UInt64(bit & 63)
  }

  func contains(_ key: Int64) -> Bool {
    let (block, bit) = Self.place(key)
    guard let words = blocks[block] else { return false }
    return words[bit >> 6] & (1 << UInt64(bit & 63)) != 0
  }

  private static func place(_ key: Int64) -> (block: Int64, bit: Int) {
    (key >> 16, Int(key & (blockBits - 1)))
  }
}

/// More records are bad than the job allows.
struct TooManyRejects: Error, CustomStringConvertible {
  let cursor: ImportCursor
  /// The bad records, where they are on disk no more.
  var kept: [RejectedRecord] = []
  let description: String

  init(_ cursor: ImportCursor, first: RejectedRecord, _ path: String) {
    self.cursor = cursor
    let records = cursor.counts.records
    description =
      first.failure(
        path, more: cursor.counts.rejects - 1, among: records == cursor.total ? nil : records
      ).message
  }
}
