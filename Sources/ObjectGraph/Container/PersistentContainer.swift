public import ObjectModel
import Synchronization

/// A ready-made stack: a coordinator with its store, a root context that writes, and a default context on main.
///
/// The root context saves to the store on an executor of its own. The default context is its child on main's executor,
/// and shows what others save through the root as soon as it is on disk, and what other processes commit as soon as the
/// store notices. Work of some length runs in children of the
/// root, best by ``save(named:_:)``.
///
///     let container = try PersistentContainer.setUp(model: model)  // of the SQLite store's module
///     let count = try await container.save { context in
///       Person(context: context).firstName = "Ada"
///       return try context.count(for: FetchRequest<Person>())
///     }
public final class PersistentContainer: Sendable {
  /// What the root context saves to.
  public let coordinator: PersistentStoreCoordinator
  /// Saves to the store; the only context of the stack that does I/O to save.
  public let rootContext: ManagedObjectContext
  private let merging: Mutex<DefaultContextMerging>
  let threads = ContextsByThread()

  /// Makes the stack and opens its store.
  ///
  /// - Parameters:
  ///   - model: the model of the store.
  ///   - description: the store.
  ///   - executor: where the default context is used; main's unless told otherwise.
  /// - Throws: ``StoreError`` if the store can't be opened.
  public init(
    model: ManagedObjectModel, store description: PersistentStoreDescription, executor: ContextExecutor = .main
  ) throws {
    coordinator = PersistentStoreCoordinator(model: model)
    try coordinator.open(description)
    rootContext = ManagedObjectContext(coordinator: coordinator, name: "root")
    let context = ManagedObjectContext(parent: rootContext, name: "default", executor: executor)
    merging = Mutex(DefaultContextMerging(from: rootContext, into: context))
  }

  // MARK: The default context

  /// The context for the user interface, or for whatever must stay responsive.
  public var defaultContext: ManagedObjectContext { merging.withLock { $0.context } }

  /// Puts another context in the default one's place, which no longer takes notice of saves from then on.
  ///
  /// - Throws: ``ContainerError/Code/foreignContext`` if the context is of another coordinator.
  public func replaceDefaultContext(with context: ManagedObjectContext) throws(ContainerError) {
    guard context.coordinator === coordinator else {
      throw ContainerError(
        .foreignContext, "the context \"\(context.name)\" is of another coordinator than the container's")
    }
    let made = DefaultContextMerging(from: rootContext, into: context)
    // The old one is released outside the lock.
    let old = merging.withLock { merging in
      defer { merging = made }
      return merging
    }
    old.end()
  }

  // MARK: New contexts

  /// A child of the default context, for editing that can be cancelled: it saves into the default context.
  ///
  /// - Parameters:
  ///   - name: what it is called in messages, logs and history.
  ///   - sharesExecutor: whether it is used where the default context is, without a hop.
  public func newChildOfDefaultContext(name: String = "child of default", sharesExecutor: Bool = false)
    -> ManagedObjectContext
  {
    let parent = defaultContext
    return ManagedObjectContext(parent: parent, name: name, executor: sharesExecutor ? parent.executor : nil)
  }

  /// A child of the root context, for work that the default context need not know of before it is saved.
  public func newChildOfRootContext(name: String = "child of root") -> ManagedObjectContext {
    ManagedObjectContext(parent: rootContext, name: name)
  }

  /// A context beside the root, directly on the coordinator, which sees what is in the store only.
  public func newBackgroundContext(name: String = "background") -> ManagedObjectContext {
    ManagedObjectContext(coordinator: coordinator, name: name)
  }

  // MARK: Saving

  /// Runs a block in a new child of the root, never on main, and saves what it changed to the store.
  ///
  /// When it returns, the changes are on disk, and the default context shows them. What the default context itself has
  /// not saved stays unsaved. If the block throws, nothing is saved.
  /// - Parameters:
  ///   - name: what the context is called in logs, errors and history.
  ///   - block: the work, on the new context's executor; its result is returned.
  /// - Throws: what the block throws, or why a level could not be saved; then the levels above were not saved either.
  @discardableResult
  public func save<Result: Sendable>(
    named name: String = "save", _ block: @Sendable (isolated ManagedObjectContext) throws -> Result
  ) async throws -> Result {
    let context = newChildOfRootContext(name: name)
    let result = try await context.perform(block)
    try await context.saveToPersistentStore()
    await waitForMerges()
    return result
  }

  /// Returns once the default context shows all that was saved before the call.
  public func waitForMerges() async { await defaultContext.perform { _ in } }

  /// Closes the store; contexts that go on will be told that there is none.
  public func close() throws { try coordinator.close() }
}
