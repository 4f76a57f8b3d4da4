import Configuration
import ControlClient
import StatusReplies
import StoreCopy

/// The daemon's store, for commands that read its files themselves.
extension Session {
  /// The store that the daemon's configuration names.
  func configuredStore() throws(ToolError) -> StoreAddress {
    guard let paths else {
      throw ToolError(
        .usage, "with --socket alone the configured store is not known", hint: "name the store, or --root DIR")
    }
    let configuration: Configuration
    do throws(ConfigurationError) {
      configuration = try Configuration.load(paths, ofUser: paths.owner)
    } catch {
      throw ToolError(.unreadableFile, "\(error)", hint: "name the store, or --root DIR")
    }
    let url = configuration.store.url
    return StoreAddress(url.isEmpty ? paths.placed(by: configuration).store : url)
  }

  /// The store of the daemon that runs, or else the one that its configuration names.
  func storeInUse() throws(ToolError) -> StoreAddress {
    if let store = try statusIfRunning()?.store { return StoreAddress(store) }
    return try configuredStore()
  }

  /// The status of the daemon; nil if it does not answer, and its files are known without it.
  func statusIfRunning() throws(ToolError) -> StatusReply? {
    do throws(ToolError) {
      return try Reply.received(from: client, "GET", ControlClient.path("v1", "status"))
        .accepted(refusal: .unavailable).decoded(as: StatusReply.self)
    } catch {
      // Without a root, only the daemon knows where its files are.
      guard paths != nil, error.code == .unavailable else { throw error }
      return nil
    }
  }
}
