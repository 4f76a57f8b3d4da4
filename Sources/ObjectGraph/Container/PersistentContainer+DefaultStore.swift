public import Foundation

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
