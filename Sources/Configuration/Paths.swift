/// The paths of the daemon and its tools.
package struct Paths: Sendable, Equatable {
  /// The folder of all spool folders; they lie on one file system, so that renames between them work.
  package let spool: String
  /// The folder of the store, of its large values, and of what is remembered beside them.
  package private(set) var state: String
  /// The folder of the store where the configuration names no other.
  package let defaultState: String
  /// The Unix socket of the status interface.
  package let socket: String
  /// The folder of the configuration.
  package let configuration: String

  /// The paths of the installed service.
  package static let system = Paths(
    spool: "/var/spool/bobbin", state: "/var/lib/bobbin", socket: "/run/bobbin.sock", configuration: "/etc/bobbin")

  /// Everything under one folder, for demonstrations, tests and users without privileges.
  ///
  /// - Parameter root: An absolute or relative path; a Unix socket's path may have 107 bytes, so keep it short.
  package init(root: String) {
    var root = root[...]
    while root.count > 1, root.last == "/" { root.removeLast() }
    let prefix = root == "/" ? "" : root
    self.init(
      spool: "\(prefix)/spool", state: "\(prefix)/state", socket: "\(prefix)/run/bobbin.sock",
      configuration: "\(prefix)/etc")
  }

  private init(spool: String, state: String, socket: String, configuration: String) {
    self.spool = spool
    self.state = state
    defaultState = state
    self.socket = socket
    self.configuration = configuration
  }

  /// The paths with the store where a configuration puts it.
  package func placed(by configuration: Configuration) -> Paths {
    var paths = self
    if !configuration.store.path.isEmpty { paths.state = configuration.store.path }
    return paths
  }

  /// The folder of the socket, which others may use as well.
  package var socketFolder: String { String(socket[..<(socket.lastIndex(of: "/") ?? socket.startIndex)]) }
  /// The folder in which job files are written before they are renamed into `spoolNew`.
  package var spoolTemporary: String { spool + "/tmp" }
  /// The folder into which job files are dropped.
  package var spoolNew: String { spool + "/new" }
  /// The claimed job files whose outcome is not yet on disk.
  package var spoolCurrent: String { spool + "/cur" }
  /// The refused job files, each with its reason beside it.
  package var spoolFailed: String { spool + "/failed" }
  /// The folder that relative paths in job files start from.
  package var payload: String { spool + "/payload" }
  /// The folder of inputs that came with jobs over the socket.
  package var uploads: String { spool + "/uploads" }
  /// The SQLite database.
  package var store: String { state + "/" + Self.storeFile }
  /// Folders of the daemon's own, in which no job may write anywhere.
  package var ownTrees: [String] {
    [spoolTemporary, spoolNew, spoolCurrent, spoolFailed, uploads, state, configuration]
  }
  /// Folders of the daemon's own that have others in them where jobs may write.
  package var ownPlaces: [String] { [spool, socketFolder] }
  package static let storeFile = "bobbin.sqlite"
  /// A file whose modification time is the last trusted time of the clock.
  package var clock: String { state + "/clock" }
  /// The folder of pictures that jobs of the same input may share.
  package var keptPictures: String { state + "/pictures" }
  package var configurationFile: String { configuration + "/bobbin.conf" }
  /// The folder of `*.conf` files that are read after the main file, in lexical order.
  package var configurationDropIns: String { configuration + "/bobbin.conf.d" }
  /// The folder of notifiers.
  package var notifiers: String { configuration + "/notify.d" }
  /// The folder of declared job types.
  package var handlers: String { configuration + "/handlers.d" }
  /// The folder of hot folders' definitions.
  package var hotFolders: String { configuration + "/folders.d" }
  /// The folder of what is remembered of hot folders.
  package var hotFolderMemories: String { state + "/" + Self.hotFolderState }
  private static let hotFolderState = "folders"
  /// The folder of schedules.
  package var schedules: String { configuration + "/schedules.d" }
  /// The file with the places of schedules, beside the store.
  package static let scheduleState = "schedules"
  /// The file with the figures of the last hour and week, beside the store.
  package static let samples = "samples"
  /// The names of what stands beside the store and belongs to it.
  package static let storeCompanions = [scheduleState, hotFolderState]
  /// The file that tells what is in a backup; in the store's folder, that it was restored from one.
  package static let backupManifest = "backup.json"
  /// The file that tells where the store was last, unless that was the default place.
  package var storePlace: String { defaultState + "/store-place" }
  /// The file of the tokens of clients of TCP, unless the service manager passes one as a credential.
  package var tokens: String { configuration + "/tokens" }
  /// The name of that credential.
  package static let tokensCredential = "bobbin.tokens"
  /// The folder of `.xcdatamodeld` bundles.
  package var models: String { configuration + "/models" }
  /// The operator's decisions about changes of models that can't be inferred.
  package var migrationInstructions: String { models + "/migration.conf" }
}
