public import Foundation
public import ObjectModel
import Synchronization

/// A ready-made stack: a coordinator with its store, a root context that writes, and a default context on main.
///
/// The root context saves to the store on its own executor. The default context is its child on main's executor; it
/// shows what others save through the root once it is on disk, and what other processes commit once the store notices.
/// Run longer work in children of the root, best by ``save(named:_:)``.
///
///     let container = try PersistentContainer.setUp(model: model)  // of the SQLite store's module
///     let count = try await container.save { context in
///       Person(context: context).firstName = "Ada"
///       return try context.count(for: FetchRequest<Person>())
///     }
public final class PersistentContainer: Sendable {
  /// The coordinator that the root context saves to.
  public let coordinator: PersistentStoreCoordinator
  /// The context that saves to the store, the only one of the stack whose save does I/O.
  public let rootContext: ManagedObjectContext
  private let merging: Mutex<DefaultContextMerging>
  private let saves = SaveTurns()
  let threads = ContextsByThread()

  /// Makes the stack and opens its store.
  ///
  /// - Parameters:
  ///   - model: the model of the store.
  ///   - description: the store.
  ///   - executor: the default context's executor; main's by default.
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

  /// The context for the user interface, or for other code that must stay responsive.
  public var defaultContext: ManagedObjectContext { merging.withLock { $0.context } }

  /// Replaces the default context; the old one no longer merges saves.
  ///
  /// - Throws: ``ContainerError/Code/foreignContext`` if the context is of another coordinator.
  public func replaceDefaultContext(with context: ManagedObjectContext) throws {
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

  /// Makes a child of the default context, for editing that can be cancelled: it saves into the default context.
  ///
  /// - Parameters:
  ///   - name: its name in messages, logs and history.
  ///   - sharesExecutor: true to use the default context's executor, without a hop.
  public func newChildOfDefaultContext(name: String = "child of default", sharesExecutor: Bool = false)
    -> ManagedObjectContext
  {
    let parent = defaultContext
    return ManagedObjectContext(parent: parent, name: name, executor: sharesExecutor ? parent.executor : nil)
  }

  /// Makes a child of the root context, for work that the default context sees only once it is saved.
  public func newChildOfRootContext(name: String = "child of root") -> ManagedObjectContext {
    ManagedObjectContext(parent: rootContext, name: name)
  }

  /// Makes a context beside the root, directly on the coordinator, which sees only what is stored.
  public func newBackgroundContext(name: String = "background") -> ManagedObjectContext {
    ManagedObjectContext(coordinator: coordinator, name: name)
  }

  // MARK: Saving

  /// Runs a block in a new child of the root, never on main, and saves its changes to the store.
  ///
  /// When it returns, the changes are on disk, and the default context shows them. The default context's own unsaved
  /// changes stay unsaved. If it throws, nothing is saved and nothing is left of the changes, so that it can be called again;
  /// only if others have changes in the root meanwhile, they stay there with theirs. Blocks run side by side; their changes
  /// go to the store one after the other.
  ///
  /// Of two blocks that change the same property the later one wins. One that computes a value from what it reads asks for
  /// ``ManagedObjectContext/detectConflicts(for:)`` first, and is called again after ``SaveConflicts``.
  /// - Parameters:
  ///   - name: the context's name in logs, errors and history.
  ///   - block: the work, on the new context's executor; its result is returned.
  /// - Throws: errors of the block, or of a level's save.
  @discardableResult
  public func save<Result: Sendable>(
    named name: String = "save", _ block: @Sendable (isolated ManagedObjectContext) throws -> Result
  ) async throws -> Result {
    let context = newChildOfRootContext(name: name)
    let result = try await context.perform(block)
    try await saves.perform { try await self.store(context) }
    await waitForMerges()
    return result
  }

  /// Saves a child of the root into the store. What that refuses leaves the root as well: nobody would take it out again.
  private func store(_ child: ManagedObjectContext) async throws {
    // In this order: others may save into the root at any moment.
    let (earlier, isClean) = await rootContext.perform { root in
      let adoptions = root.pending.adoptions
      return (adoptions, !root.hasChanges)
    }
    try await child.saveOnlySelf()
    do { try await rootContext.saveOnlySelf() } catch {
      // With changes of somebody else it is for both to deal with.
      if isClean { await rootContext.perform { $0.rollback(ifAdopted: earlier + 1) } }
      throw error
    }
  }

  /// Returns once the default context shows all that was saved before the call.
  public func waitForMerges() async { await defaultContext.perform { _ in } }

  /// Closes the store; contexts used afterwards get errors.
  public func close() throws { try coordinator.close() }
}

extension PersistentContainer {
  /// The policy for conflicts in saves of this stack's contexts, unless a context has its own.
  public var mergePolicy: MergePolicy {
    get { coordinator.mergePolicy }
    set { coordinator.mergePolicy = newValue }
  }
}

/// The turns of a container's saves, each from its own save to that of the root.
private final class SaveTurns: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// Performs a body when those before have ended.
  func perform(_ body: () async throws -> Void) async throws {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.isTaken { state.waiting.append(continuation) }
        defer { state.isTaken = true }
        return !state.isTaken
      }
      if isFree { continuation.resume() }
    }
    defer {
      let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
        if state.waiting.isEmpty {
          state.isTaken = false
          return nil
        }
        return state.waiting.removeFirst()
      }
      next?.resume()
    }
    try await body()
  }
}

/// A default context that merges what the root context saves, and what others commit, until it is replaced.
struct DefaultContextMerging: Sendable {
  let context: ManagedObjectContext
  private let observations: [ContextObservation]

  init(from root: ManagedObjectContext, into context: ManagedObjectContext) {
    self.context = context
    // Only saves that have reached the store: one merge for each, whichever levels it passed through.
    let saves = root.observe { [weak context] event in
      guard case .didSave(let save) = event, let context else { return }
      context.perform { $0.mergeChanges(fromContextDidSave: save) }
    }
    let remote = root.coordinator.observeRemoteChanges { [weak root, weak context] change in
      // In this order, since the default context's objects build on the root's unsaved changes.
      root?.perform { [weak context] root in
        root.mergeChanges(fromRemoteChange: change)
        context?.mergeSoon(change)
      }
    }
    observations = [saves, remote]
  }

  /// Stops merging; a merge that has begun may still finish.
  func end() { for observation in observations { observation.cancel() } }
}

/// The error about a wrong use of a persistent container.
public struct ContainerError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of the error; open, so that more can be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The code as text, which stays the same from release to release.
    public let rawValue: String
    /// A code by its text: one of those below, one of a later release, or one of your own.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The default container is used before it was set up.
    public static let notSetUp = Code(rawValue: "not-set-up")
    /// `contextForHere()` is called in a task that has no context.
    public static let noTaskContext = Code(rawValue: "no-task-context")
    /// A context of another stack was passed to the container.
    public static let foreignContext = Code(rawValue: "foreign-context")
    /// The default container exists already, and with another model or store.
    public static let otherSetUp = Code(rawValue: "other-set-up")
  }

  /// The kind of the error.
  public var code: Code
  /// The error and its remedy, in words.
  public var message: String

  /// Makes an error about the use of a container.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message.
  public var description: String { message }
}

extension ManagedObjectContext {
  /// Saves one level up, on the context's executor.
  ///
  /// - Throws: errors of ``save()``.
  public nonisolated func saveOnlySelf() async throws { try await perform { try $0.save() } }

  /// Saves this context, then its parent, and so on up to the store, each on its own executor.
  ///
  /// The caller's executor is never blocked. It stops at a level that can't be saved: those above are not saved, those
  /// below have been.
  /// - Throws: errors of that level's ``save()``.
  public nonisolated func saveToPersistentStore() async throws {
    var next: ManagedObjectContext? = self
    while let context = next {
      try await context.saveOnlySelf()
      next = context.parent
    }
  }
}

extension PersistentContainer {
  /// The name of a default store if neither the caller nor the process has one.
  public static let fallbackStoreName = "Default.sqlite"

  /// Sets up the stack that the process shares, on a default store; a second call returns it and does no I/O.
  ///
  /// - Parameters:
  ///   - model: the model of the store.
  ///   - name: the store's file; the process's name if nil. `.sqlite` is added unless it ends so.
  ///   - directory: where the file is, made if it is missing; ``defaultStoreDirectory`` if nil.
  ///   - options: how the store is opened.
  ///   - executor: where the default context is used.
  /// - Throws: `StoreError` if the store can't be opened, `ContainerError` if the process shares another stack already.
  @discardableResult
  public static func setUp(
    model: ManagedObjectModel, storeNamed name: String? = nil, in directory: URL? = nil,
    options: SQLiteStoreOptions = SQLiteStoreOptions(), executor: ContextExecutor = .main
  ) throws -> PersistentContainer {
    let directory = directory ?? defaultStoreDirectory
    let url = directory.appending(path: storeFileName(name), directoryHint: .notDirectory)
    return try setUpShared(key: url.path(percentEncoded: false)) {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      return try PersistentContainer(model: model, store: .sqlite(at: url, options: options), executor: executor)
    }
  }

  /// The name of a store's file: the given name or the process's, with `.sqlite` at its end once.
  public static func storeFileName(_ name: String? = nil) -> String {
    storeFileName(name, processName: ProcessInfo.processInfo.processName)
  }

  /// - Parameter processName: may be empty, as that of a process that was started without arguments.
  static func storeFileName(_ name: String?, processName: String) -> String {
    let given = name ?? processName.replacing("/", with: "-")
    if given.isEmpty { return fallbackStoreName }
    return given.hasSuffix("sqlite") ? given : given + ".sqlite"
  }

  /// The folder of default stores: the process's own in `$XDG_DATA_HOME`, or in `~/.local/share`.
  public static var defaultStoreDirectory: URL {
    let process = ProcessInfo.processInfo
    let folder = process.processName.isEmpty ? "Default" : process.processName.replacing("/", with: "-")
    let base: URL
    // A relative path is to be ignored, says the XDG Base Directory Specification.
    if let home = process.environment["XDG_DATA_HOME"], home.hasPrefix("/") {
      base = URL(filePath: home, directoryHint: .isDirectory)
    } else {
      base = FileManager.default.homeDirectoryForCurrentUser.appending(path: ".local/share")
    }
    return base.appending(path: folder, directoryHint: .isDirectory)
  }
}

/// The container that the process shares, once it was set up.
enum DefaultContainer {
  private struct State {
    var container: PersistentContainer?
    var key = ""
  }

  private static let state = Mutex(State())

  static var container: PersistentContainer? { state.withLock { $0.container } }

  /// Returns the container, made if there is none; concurrent callers wait for it.
  ///
  /// - Parameter key: an identity of its model and store; a second set-up must have the same.
  static func setUp(_ key: String, _ make: () throws -> PersistentContainer) throws -> PersistentContainer {
    try state.withLock { state in
      if let container = state.container {
        guard state.key == key else {
          throw ContainerError(
            .otherSetUp,
            "the default container is set up already, for \(state.key), and can't be for \(key) too; tear it down "
              + "first, or make a PersistentContainer of its own")
        }
        return container
      }
      let made = try make()
      state = State(container: made, key: key)
      return made
    }
  }

  static func tearDown() -> PersistentContainer? {
    state.withLock { state in
      defer { state = State() }
      return state.container
    }
  }
}

extension PersistentContainer {
  /// The container that the process shares.
  ///
  /// - Throws: ``ContainerError/Code/notSetUp`` before it was set up.
  public static var shared: PersistentContainer {
    get throws {
      guard let container = DefaultContainer.container else {
        throw ContainerError(
          .notSetUp, "the default container is used before it was set up; call PersistentContainer.setUp(model:) first")
      }
      return container
    }
  }

  /// Makes the container that the process shares, or returns it without I/O.
  ///
  /// - Parameters:
  ///   - key: an identity of its model and store, such as the store's path.
  ///   - make: makes it; must not use the shared container.
  /// - Throws: errors of `make`; ``ContainerError/Code/otherSetUp`` if there is one with another key.
  public static func setUpShared(
    key: String, _ make: () throws -> PersistentContainer
  ) throws -> PersistentContainer {
    try DefaultContainer.setUp(key, make)
  }

  /// Closes the store of the container that the process shares and forgets it; does nothing if there is none.
  public static func tearDownShared() throws { try DefaultContainer.tearDown()?.close() }
}
