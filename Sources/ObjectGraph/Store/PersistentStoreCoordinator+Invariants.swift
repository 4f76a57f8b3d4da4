extension PersistentStoreCoordinator {
  /// Checks the row cache against the store, and the store in itself: its file, references, links and large values.
  ///
  /// For tests, while nothing saves, and after other processes' saves were merged. It changes nothing. Cost: I/O, a
  /// pass over the whole store.
  /// - Throws: ``InvariantViolation`` with all findings, ``StoreError`` if the store can't be read.
  public func checkInvariants() throws {
    let store = try openStore()
    let findings = try cacheFindings(store) + store.findings()
    if !findings.isEmpty { throw InvariantViolation(subject: store.path ?? "the store in memory", findings: findings) }
  }

  private func cacheFindings(_ store: any PersistentStore) throws -> [String] {
    try store.read { reader in
      try sharedRows.all.compactMap { id, cached in
        guard let stored = try reader.row(for: id) else { return "\(id) is in the row cache and not in the store" }
        if stored.version != cached.version {
          return "\(id) is in the row cache in version \(cached.version), in the store in \(stored.version)"
        }
        let layout = layouts[Int(stored.row.entityIndex)]
        let differing = cached.row.changedSlots(from: withoutTransients(stored.row), layout: layout).filter { slot in
          // The same bytes may be in memory here and in a file there.
          layout.storage[slot] != .blob || cached.row.isNull(slot) || stored.row.isNull(slot)
            || cached.row.blob(slot).byteCount != stored.row.blob(slot).byteCount
        }
        guard let slot = differing.first else { return nil }
        let name = model.entities[Int(stored.row.entityIndex)].properties[slot].name
        return "\(id) has another \(name) in the row cache than in the store"
      }
    }
  }
}

/// The findings of a check of invariants: a fault of the library, or damage to the store's files.
public struct InvariantViolation: Error, Sendable, CustomStringConvertible {
  /// The checked subject: the name of a context, or the path of a store.
  public let subject: String
  /// Each contradiction in a sentence, without values.
  public let findings: [String]

  /// The subject and all findings.
  public var description: String { "\(subject): " + findings.joined(separator: "; ") }
}
