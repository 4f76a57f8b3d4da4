public import Foundation
import ObjectModel

/// Reads or purges the history of a store that keeps one, see `SQLiteStoreOptions.tracksHistory`.
///
///     var request = PersistentHistoryRequest.fetchHistory(after: lastToken)
///     request.condition = try Condition(format: "author != %@", "importer")
///     for transaction in try context.execute(request).transactions { context.mergeChanges(from: transaction) }
public struct PersistentHistoryRequest: PersistentStoreRequest {
  enum Action: Sendable { case fetch, delete }

  let action: Action
  let point: HistoryPoint
  /// The condition on transactions to fetch, by `author`, `contextName`, `process`, `timestamp` and `number`.
  ///
  /// Of others no changes are read. A delete does not look at it.
  public var condition: Condition?
  /// The most transactions to fetch; nil for no limit.
  public var fetchLimit: Int?
  /// True if transactions come with their changes.
  public var includesChanges = true

  /// The transactions after that of a token; all that there are if it is nil.
  public static func fetchHistory(after token: PersistentHistoryToken?) -> Self {
    Self(action: .fetch, point: token.map(HistoryPoint.token) ?? .beginning)
  }

  /// The transactions after another.
  public static func fetchHistory(after transaction: PersistentHistoryTransaction) -> Self {
    fetchHistory(after: transaction.token)
  }

  /// The transactions that were made later than a date.
  public static func fetchHistory(after date: Date) -> Self { Self(action: .fetch, point: .date(date)) }

  /// Deletes the transactions before that of a token, which stays.
  public static func deleteHistory(before token: PersistentHistoryToken) -> Self {
    Self(action: .delete, point: .token(token))
  }

  /// Deletes the transactions before another.
  public static func deleteHistory(before transaction: PersistentHistoryTransaction) -> Self {
    deleteHistory(before: transaction.token)
  }

  /// Deletes the transactions that were made before a date.
  public static func deleteHistory(before date: Date) -> Self { Self(action: .delete, point: .date(date)) }
}

/// The result of a request for history.
public struct PersistentHistoryResult: Sendable {
  /// The transactions that were fetched, oldest first.
  public let transactions: [PersistentHistoryTransaction]
  /// The number of transactions fetched or deleted.
  public let count: Int
}

extension ManagedObjectContext {
  /// The author of this context's changes in the history; until it is set, the parent's.
  public nonisolated var transactionAuthor: String? {
    get { pending.author ?? parent?.transactionAuthor }
    set { pending.author = newValue }
  }

  /// The origin that the history names if this context saves now.
  var transactionOrigin: TransactionOrigin {
    var origin = pending.soleContributor ?? TransactionOrigin(contextName: name)
    origin.author = origin.author ?? transactionAuthor
    return origin
  }

  /// Reads or purges the history of the store.
  ///
  /// - Throws: ``StoreError`` with the code `unsupported` if the store keeps no history, `expiredHistoryToken` if
  ///   transactions after the token were deleted; ``ConditionError`` for a condition that does not fit.
  @discardableResult
  public func execute(_ request: PersistentHistoryRequest) throws -> PersistentHistoryResult {
    try coordinator.execute(request)
  }

  /// Takes over what a transaction of the history has done; see ``mergeChanges(fromRemoteContextSave:)``.
  public func mergeChanges(from transaction: PersistentHistoryTransaction) {
    mergeChanges(fromRemoteContextSave: RemoteContextSave(transaction.changes))
  }
}

extension RemoteContextSave {
  /// Joins changes of a history, naming each object once.
  public init(_ changes: some Sequence<PersistentHistoryChange>) {
    var kinds: [ManagedObjectID: PersistentHistoryChange.Kind] = [:]
    var order: [ManagedObjectID] = []
    for change in changes {
      let earlier = kinds.updateValue(change.kind, forKey: change.objectID)
      if earlier == nil { order.append(change.objectID) }
      // An object that is new to the reader stays so when it is changed again.
      if earlier == .insert, change.kind == .update { kinds[change.objectID] = .insert }
    }
    func ids(_ kind: PersistentHistoryChange.Kind) -> [ManagedObjectID] { order.filter { kinds[$0] == kind } }
    self.init(inserted: ids(.insert), updated: ids(.update), deleted: ids(.delete))
  }
}

extension PersistentStoreCoordinator {
  /// The place behind the newest transaction of the store, to ask later for what has come since.
  ///
  /// - Throws: ``StoreError`` if the store keeps no history, or can't be read.
  public func currentHistoryToken() throws -> PersistentHistoryToken { try history().currentToken() }

  func history() throws(StoreError) -> any StoreHistory {
    let store = try openStore()
    guard let history = store.history else {
      throw StoreError(
        .unsupported, "the store keeps no history; open it with SQLiteStoreOptions.tracksHistory set", path: store.path)
    }
    return history
  }

  func execute(_ request: PersistentHistoryRequest) throws -> PersistentHistoryResult {
    let history = try history()
    guard request.action == .fetch else {
      return PersistentHistoryResult(transactions: [], count: try history.deleteTransactions(before: request.point))
    }
    let filter = try request.condition.map(HistoryFilter.init)
    let limit = request.fetchLimit ?? .max
    var found: [PersistentHistoryTransaction] = []
    if limit > 0 {
      try history.transactions(after: request.point) { transaction, changes in
        if let filter, try !filter.matches(transaction) { return true }
        found.append(request.includesChanges ? transaction.with(try changes()) : transaction)
        return found.count < limit
      }
    }
    return PersistentHistoryResult(transactions: found, count: found.count)
  }
}

extension PersistentHistoryTransaction {
  func with(_ changes: [PersistentHistoryChange]) -> Self {
    Self(
      token: token, timestamp: timestamp, author: author, contextName: contextName, process: process,
      changes: changes, writer: writer)
  }
}

/// A condition over transactions of a history, which chooses some of them.
struct HistoryFilter {
  private let model: ManagedObjectModel
  private let entity: Entity
  private let evaluator: ConditionEvaluator

  /// - Throws: ``ConditionError`` if the condition names what a transaction does not have.
  init(_ condition: Condition) throws {
    model = try ManagedObjectModel([
      EntityDescription(
        "Transaction",
        attributes: [
          AttributeDescription("author", .string), AttributeDescription("contextName", .string),
          AttributeDescription("process", .string), AttributeDescription("timestamp", .date),
          AttributeDescription("number", .integer64),
        ])
    ])
    entity = model.entities[0]
    evaluator = try ConditionEvaluator(try condition.resolved(for: entity), entity: entity) { _ in nil }
  }

  func matches(_ transaction: PersistentHistoryTransaction) throws -> Bool {
    let values: [String: Value] = [
      "author": transaction.author.map(Value.string) ?? .null,
      "contextName": transaction.contextName.map(Value.string) ?? .null, "process": .string(transaction.process),
      "timestamp": .date(transaction.timestamp), "number": .integer(transaction.token.number),
    ]
    let row = Row(RowLayout(entity)).with(values, entity: entity)
    let id = ManagedObjectID(key: transaction.token.number, entity: entity, coordinatorOrdinal: 0)
    return try evaluator.matches(id: id, row: row)
  }
}
