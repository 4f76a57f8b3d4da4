import Synchronization

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
    get throws(ContainerError) {
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
