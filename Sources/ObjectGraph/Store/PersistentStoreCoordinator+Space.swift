extension PersistentStoreCoordinator {
  /// Gives some of the space that deleted objects have left back to the file system, in one transaction.
  ///
  /// Saves wait meanwhile, so ask for little at a time. Blocks the caller; any thread.
  /// - Parameter byteCount: how much at most.
  /// - Returns: how many bytes; 0 if there are none, or if the store was not made for it.
  /// - Throws: ``StoreError`` if the store can't be written.
  public func reclaimSpace(atMost byteCount: Int) throws -> Int { try openStore().reclaimSpace(atMost: byteCount) }

  /// Returns the bytes of the store's file in use, without large values in files of their own.
  ///
  /// Blocks the caller for a moment; any thread.
  /// - Throws: ``StoreError`` if the store can't be read.
  public func bytesInUse() throws -> Int { try openStore().bytesInUse() }
}
