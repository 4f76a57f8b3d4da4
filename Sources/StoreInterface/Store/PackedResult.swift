package import ObjectModel

/// The outcome of writing a batch row by row.
package struct PackedResult: Sendable {
  /// The outcome of one row.
  package enum Outcome: UInt8, Sendable {
    case inserted
    case updated
    /// The stored object has these very values.
    case unchanged
    case skipped
    /// Not written: another object has a value that must be unique.
    case violated
  }

  /// A row that was not written, and why.
  package struct Violation: Sendable {
    package let row: Int
    /// Safe to show: no values.
    package let message: String
    /// Those that must be unique together.
    package let properties: [String]
  }

  package private(set) var outcomes: [Outcome] = []
  /// The key of each row's object; new objects have keys that follow each other. Of a violated row, the one that it would
  /// have had.
  package private(set) var keys: [Int64] = []
  package private(set) var insertedCount = 0
  /// The objects that were updated.
  package private(set) var updates: [ManagedObjectID] = []
  package private(set) var violations: [Violation] = []

  private let firstKey: Int64

  package init(_ batch: RowBatch) {
    firstKey = batch.firstKey
    outcomes.reserveCapacity(batch.count)
    keys.reserveCapacity(batch.count)
  }

  @inline(__always)
  package mutating func add(_ outcome: Outcome, key: Int64) {
    outcomes.append(outcome)
    keys.append(key)
    if outcome == .inserted { insertedCount += 1 }
  }

  /// Adds rows that were inserted one after the other.
  package mutating func addInserted(keys: Range<Int64>) {
    outcomes.append(contentsOf: repeatElement(.inserted, count: keys.count))
    self.keys.append(contentsOf: keys)
    insertedCount += keys.count
  }

  package mutating func addUpdate(_ id: ManagedObjectID) {
    updates.append(id)
    add(.updated, key: id.key)
  }

  package mutating func addViolation(key: Int64, _ error: StoreError) {
    violations.append(Violation(row: outcomes.count, message: error.message, properties: error.properties))
    add(.violated, key: key)
  }

  /// The rule that a violated row breaks.
  package static let rule = "unique"

  package func count(of outcome: Outcome) -> Int { outcomes.count { $0 == outcome } }

  /// The keys of the new objects.
  package var insertedKeys: Range<Int64> { firstKey..<firstKey + Int64(insertedCount) }
}

extension RowBatch {
  /// Returns the error of a row whose key another object has.
  package func takenKey(_ key: [Property]) -> StoreError {
    StoreError(violated: key.map(\.name), of: entity.name)
  }
}

/// The treatment of a packed row whose key a stored object already has.
package enum PackedConflict: Sendable {
  /// It is not written, and is told as one that violates a constraint.
  case violation
  /// It is left out.
  case skip
  /// The stored object takes over the row's values.
  case update
}
