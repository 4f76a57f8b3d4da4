import SystemSupport

/// All open connections of a server: who they belong to, how many each user has, and when each must be over.
///
/// A value without I/O; its owner guards it with a lock. Times are nanoseconds of the system's uptime.
struct ConnectionTable {
  struct Connection {
    let socket: ConnectionSocket
    let peer: PeerCredentials?
    /// The library's descriptor until it reports the connection's start, then nil.
    var pendingDescriptor: Int32?
    /// When to cut the connection, or to answer its waiting request; nil when that has been done.
    var deadline: UInt64?
    /// The exchange whose request is complete and whose reply is not sent yet.
    var exchange: UInt64?
    /// Whether the client may still be sending a body that nobody reads.
    var hasUnreadBody = false
    /// The current request's target as it was sent, before the library splits it.
    var target = ""
  }

  private(set) var connections: [UInt64: Connection] = [:]
  private var countByUser: [UInt32: Int] = [:]
  private var pending: [Int32: UInt64] = [:]
  private var lastID: UInt64 = 0
  private let limits: HTTPServerLimits

  init(limits: HTTPServerLimits) {
    self.limits = limits
  }

  /// Enters a connection that is about to be handed to the library; nil when there are too many.
  mutating func admit(
    _ socket: ConnectionSocket, descriptor: Int32, peer: PeerCredentials?, deadline: UInt64
  ) -> UInt64? {
    // A number can only be used again after it was closed: the library gave up that connection without saying so.
    if let stale = pending[descriptor] { remove(stale) }
    guard connections.count < limits.connections else { return nil }
    if let peer {
      guard countByUser[peer.user, default: 0] < limits.connectionsPerUser else { return nil }
      countByUser[peer.user, default: 0] += 1
    }
    lastID += 1
    pending[descriptor] = lastID
    connections[lastID] = Connection(socket: socket, peer: peer, pendingDescriptor: descriptor, deadline: deadline)
    return lastID
  }

  /// Finds the connection that the library begins to serve on this descriptor.
  mutating func begin(descriptor: Int32) -> UInt64? {
    guard let id = pending.removeValue(forKey: descriptor) else { return nil }
    connections[id]?.pendingDescriptor = nil
    return id
  }

  @discardableResult
  mutating func remove(_ id: UInt64) -> Connection? {
    guard let connection = connections.removeValue(forKey: id) else { return nil }
    if let descriptor = connection.pendingDescriptor { pending[descriptor] = nil }
    guard let user = connection.peer?.user, let count = countByUser[user] else { return connection }
    countByUser[user] = count > 1 ? count - 1 : nil
    return connection
  }

  mutating func update(_ id: UInt64, _ change: (inout Connection) -> Void) {
    guard var connection = connections.removeValue(forKey: id) else { return }
    change(&connection)
    connections[id] = connection
  }

  /// Takes the connections whose time is over; they have no deadline afterwards. Linear in the open connections.
  mutating func takeOverdue(at now: UInt64) -> [UInt64] {
    let overdue = connections.filter { $0.value.deadline.map { $0 <= now } ?? false }.map(\.key)
    for id in overdue { connections[id]?.deadline = nil }
    return overdue
  }

  var earliestDeadline: UInt64? {
    connections.values.lazy.compactMap(\.deadline).min()
  }
}
