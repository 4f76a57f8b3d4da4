import PostgresTesting

/// What lies between a host and the database servers, and can be cut for a while.
enum HostLink {
  enum Route {
    /// The sockets of both servers.
    case sockets
    /// The socket of a pooler that leads to the primary; the last host of a trial has those of the servers.
    case pooler
    /// A network, on which servers prove who they are.
    case network
  }

  case proxies([CuttingProxy], isPooled: Bool)
  case cable(PrivateNetwork, host: Int)

  /// The link of a host, a cable where the servers are on a network.
  init(to servers: ReplicatedCluster, host: Int, isPooled: Bool) throws {
    if let network = servers.network {
      self = .cable(network, host: host)
    } else {
      let folders = isPooled ? [servers.poolerFolder] : (0...1).map(servers.socketFolder)
      self = .proxies(try folders.map { try CuttingProxy(to: $0) }, isPooled: isPooled)
    }
  }

  /// The address of a database, for the host.
  func url(of database: String) -> String {
    switch self {
    case .proxies(let proxies, let isPooled):
      return ReplicatedCluster.url(
        of: database, socketFolders: proxies.map(\.socketFolder), isPooled: isPooled)
    case .cable(let network, _): return network.url(of: database)
    }
  }

  /// The beginning of the command that is the host's daemon.
  var wrapper: [String] {
    switch self {
    case .proxies: []
    case .cable(let network, let host): network.at(host: host)
    }
  }

  /// Lets nothing through in either direction, without closing anything.
  func cut() throws {
    switch self {
    case .proxies(let proxies, _): for proxy in proxies { proxy.isolate() }
    case .cable(let network, let host): try network.isolate(host)
    }
  }

  func restore() throws {
    switch self {
    case .proxies(let proxies, _): for proxy in proxies { proxy.restore() }
    case .cable(let network, let host): try network.restore(host)
    }
  }
}
