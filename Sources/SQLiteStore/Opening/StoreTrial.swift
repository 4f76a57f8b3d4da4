package import Foundation
package import ObjectModel
import SQLGeneration
package import StoreInterface

/// Tries a model on a store without changing anything, also while another process has the store open.
package enum StoreTrial {
  /// The effect of opening the store with the model.
  package enum Outcome: Sendable {
    /// There is no store; one would be made.
    case newStore
    case nothing
    /// It would be migrated; a sentence for each change, and whether all of them only add something.
    case migration([String], onlyAdds: Bool)
  }

  /// - Parameter isOpenHere: true if this process has the store open: it would lose its locks on a file that is opened and
  ///   closed besides.
  /// - Throws: ``StoreError`` as opening would, with the same message.
  package static func run(
    at url: URL, model: ManagedObjectModel, options: SQLiteStoreOptions, isOpenHere: Bool = false
  ) throws(StoreError) -> Outcome {
    let path = url.standardizedFileURL.path
    let schema = Schema(model)
    let counter = StatementCounter()
    let opener = StoreOpener(path: path, schema: schema, options: options, counter: counter)
    try opener.checkNames()
    if !isOpenHere, try !opener.checkHeader() { return .newStore }
    let isAlone = !isOpenHere && FileSystem.size(of: path + "-wal") == 0 && !FileSystem.exists(path + "-shm")
    let connection = try Connection(
      path: path, role: .reader, settings: options.connection, counter: counter, access: .read(isAlone: isAlone))
    try connection.registerFunctions()
    try connection.control("BEGIN")
    defer { connection.endTransaction() }
    let stored = try StoredModel(connection)
    if stored.fits(model) { return .nothing }
    let updater = SchemaUpdater(
      connection: connection, schema: schema,
      files: ExternalFiles(storePath: path, isPrivate: options.isPrivate), options: options)
    guard let (_, proposal) = try updater.proposal(stored) else {
      return .migration(["new entities are added"], onlyAdds: true)
    }
    return .migration(
      try changes(proposal.plan, connection, keepsFamilies: options.keepsRemovedEntities),
      onlyAdds: proposal.plan.mapping.alterations.isEmpty)
  }

  private static func changes(
    _ plan: MigrationPlan, _ connection: Connection, keepsFamilies: Bool
  ) throws(StoreError) -> [String] {
    var changes = plan.mapping.changes
    for entity in plan.mapping.source.entities where plan.mapping.successor(of: entity) == nil && !entity.isAbstract {
      let table = plan.source.table(of: entity)
      let condition = table.tellsEntity ? " WHERE _entity = \(SchemaName.literal(entity.name))" : ""
      let count =
        try connection.controlResult(
          "SELECT count(*) FROM \(SchemaName.quoted(table.name))\(condition)"
        ) { $0.integer(0) } ?? 0
      let family = entity.root.withDescendants
      let isKept =
        keepsFamilies && family.allSatisfy { plan.mapping.successor(of: $0) == nil }
        && !family.contains { plan.mapping.choices.isDropped($0.name) }
      let objects = count == 1 ? "its 1 object" : "its \(count) objects"
      changes.append("\(entity.name) is no more: \(objects) \(isKept ? "stay in the file, unseen" : "go")")
    }
    return changes
  }
}
