extension ContextPerThread {
  /// Saves a context and merges what it saved into main; a save of main's context is just that.
  ///
  /// A failed save merges nothing.
  /// - Parameters:
  ///   - context: a context of this stack.
  ///   - merging: when main merges; nil for what the stack was made with.
  /// - Throws: what ``ManagedObjectContext/save()`` throws; ``MergeWouldDeadlock`` if main does not come to merge, in
  ///   which case the save itself is done.
  public func save(_ context: isolated ManagedObjectContext, merging: Merging? = nil) throws {
    if context === mainContext { return try context.save() }
    guard let save = try context.saveReporting() else { return }
    let main = mainContext
    switch merging ?? self.merging {
    case .asynchronous: main.mergeSoon(save)
    case .synchronous(let timeout):
      let isDone = main.executor.sync(timeout: timeout) {
        main.assumeIsolated { $0.mergeChanges(fromContextDidSave: save) }
      }
      if !isDone { throw MergeWouldDeadlock(contextName: context.name, mainName: main.name) }
    }
  }
}

/// A synchronous merge that could not be waited for, because main waits for the one who saves.
///
/// The save is done, and main merges it when it has time.
public struct MergeWouldDeadlock: Error, Sendable, CustomStringConvertible {
  /// The context that saved.
  public let contextName: String
  /// The context that was to merge.
  public let mainName: String

  /// Who waits for whom, and what to do.
  public var description: String {
    "\"\(contextName)\" has saved, but waiting for \"\(mainName)\" to merge would be a deadlock: it seems to wait for"
      + " the saving thread; merge asynchronously, or don't wait there"
  }
}
