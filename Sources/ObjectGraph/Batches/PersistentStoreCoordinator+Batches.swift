extension PersistentStoreCoordinator {
  /// Runs a batch request in one transaction and forgets the cached rows that it changed.
  func execute(
    from origin: TransactionOrigin, _ policy: MergePolicy, kind: BatchResult.Kind,
    body: (inout BatchWriter) throws -> Void
  ) throws -> BatchResult {
    let log = try openStore().transaction(from: origin) { transaction in
      var writer = BatchWriter(self, transaction, policy: policy, kind: kind)
      try body(&writer)
      var log = writer.log
      log.note(transaction.derived)
      return log
    }
    forgetRows(log.stale)
    return log.result
  }
}
