/// A store in files, of which copies can be made for other programs.
package protocol CopyableStore: PersistentStore {
  /// Calls the handler after each commit of rows from now on, on the thread that made it; the handler must be quick.
  func observeCommits(_ handler: @escaping @Sendable () -> Void)

  /// Makes a copy of the store as it is now, and puts it into the place of the last one; whoever has that open keeps it.
  ///
  /// - Parameters:
  ///   - path: the path of the copy's database; its large values are in a folder beside it, as those of the store are.
  ///   - mode: the permission bits of its files, whatever the umask.
  ///   - progress: called after each part of the database; the copy is given up if it throws.
  func publishCopy(
    at path: String, mode: UInt32, progress: () throws(StoreError) -> Void
  ) throws(StoreError) -> PublishedCopySize
}

/// The size of a copy that was made.
package struct PublishedCopySize: Sendable, Hashable {
  /// The bytes of its database.
  package let bytes: Int64
  /// The bytes of its large values together.
  package let largeValueBytes: Int64

  package init(bytes: Int64, largeValueBytes: Int64) {
    (self.bytes, self.largeValueBytes) = (bytes, largeValueBytes)
  }
}
