extension ContextPerThread {
  /// Saves a context and merges what it saved into main; a save of main's context is just that.
  ///
  /// A failed save merges nothing.
  /// - Parameters:
  ///   - context: a context of this stack.
  ///   - merging: when main merges; nil for the stack's setting.
  /// - Throws: errors of ``ManagedObjectContext/save()``; ``MergeWouldDeadlock`` if main does not merge in time, in
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

/// The error of a synchronous merge that timed out because main waits for the saving thread.
///
/// The save is done, and main merges it later.
public struct MergeWouldDeadlock: Error, Sendable, CustomStringConvertible {
  /// The context that saved.
  public let contextName: String
  /// The context that was to merge.
  public let mainName: String

  /// The two contexts, and what to do.
  public var description: String {
    "\"\(contextName)\" has saved, but waiting for \"\(mainName)\" to merge would be a deadlock: it seems to wait for"
      + " the saving thread; merge asynchronously, or don't wait there"
  }
}
