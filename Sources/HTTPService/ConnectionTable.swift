import Dispatch
import Glibc
import SystemSupport

/// All open connections of a server: their users, the count of each user, and the deadline of each.
///
/// A value without I/O; its owner guards it with a lock. Times are nanoseconds of the system's uptime.
struct ConnectionTable {
  struct Connection {
    let socket: ConnectionSocket
    let client: HTTPClient
    let standing: PeerStanding
    /// The library's descriptor until it reports the connection's start, then nil.
    var pendingDescriptor: Int32?
    /// When to cut the connection, or to answer its waiting request; nil when that has been done.
    var deadline: DispatchTime?
    /// The exchange whose request is complete and whose reply is not sent yet.
    var exchange: UInt64?
    /// True until its first request goes to the handler.
    var isNew = true
    /// True if stopping waits for that.
    var isAwaited = false
    /// True if the client may still be sending a body that nobody reads.
    var hasUnreadBody = false
    /// The current request's target as it was sent, before the library splits it.
    var target = ""
  }

  /// A user, or a network, with open connections.
  private struct User {
    var count = 0
    /// The group and standing of the last one.
    var group: UInt32?
    var standing = PeerStanding.stranger
  }

  private(set) var connections: [UInt64: Connection] = [:]
  private var users: [HTTPClient.Account: User] = [:]
  private var strangerCount = 0
  private var pending: [Int32: UInt64] = [:]
  private var lastID: UInt64 = 0
  private let limits: HTTPServerLimits

  init(limits: HTTPServerLimits) {
    self.limits = limits
  }

  /// Adds a connection that is about to be handed to the library; nil when there are too many.
  mutating func add(
    _ socket: ConnectionSocket, descriptor: Int32, client: HTTPClient, standing: PeerStanding,
    deadline: DispatchTime
  ) -> UInt64? {
    // A number can only be used again after it was closed: the library gave up that connection without saying so.
    if let stale = pending[descriptor] { remove(stale) }
    guard hasPlace(for: client, standing) else { return nil }
    let count = users[client.account]?.count ?? 0
    users[client.account] = User(count: count + 1, group: client.credentials?.group, standing: standing)
    if standing == .stranger { strangerCount += 1 }
    lastID += 1
    pending[descriptor] = lastID
    connections[lastID] = Connection(
      socket: socket, client: client, standing: standing, pendingDescriptor: descriptor, deadline: deadline)
    return lastID
  }

  private func hasPlace(for client: HTTPClient, _ standing: PeerStanding) -> Bool {
    if standing == .owner { return connections.count < limits.connections + limits.reservedConnections }
    guard connections.count < limits.connections else { return false }
    let count = users[client.account]?.count ?? 0
    if standing == .user { return count < limits.connectionsPerUser }
    return count < limits.connectionsPerStranger && strangerCount < limits.strangerConnections
  }

  /// The standing of a peer by an open connection of the same user and group; nil if there is none.
  ///
  /// So a user who connects again and again is looked up once only.
  func standing(of peer: PeerCredentials) -> PeerStanding? {
    users[.user(peer.user)].flatMap { $0.group == peer.group ? $0.standing : nil }
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
    if connection.standing == .stranger { strangerCount -= 1 }
    let account = connection.client.account
    guard let count = users[account]?.count else { return connection }
    if count > 1 { users[account]?.count = count - 1 } else { users[account] = nil }
    return connection
  }

  mutating func update(_ id: UInt64, _ change: (inout Connection) -> Void) {
    guard var connection = connections.removeValue(forKey: id) else { return }
    change(&connection)
    connections[id] = connection
  }

  /// Returns the connections whose deadline has passed and clears it. Linear in the open connections.
  mutating func dequeueOverdue(at now: DispatchTime) -> [UInt64] {
    let overdue = connections.filter { $0.value.deadline.map { $0 <= now } ?? false }.map(\.key)
    for id in overdue { connections[id]?.deadline = nil }
    return overdue
  }

  var earliestDeadline: DispatchTime? {
    connections.values.lazy.compactMap(\.deadline).min()
  }
}

/// A second descriptor of a connection's socket, with which a deadline can cut it.
///
/// The library closes its own descriptor when it likes, and its number may be another client's a moment later. This one
/// stays ours, so cutting late is harmless.
final class ConnectionSocket: Sendable {
  private let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  /// Ends the connection in both directions, for the library and the client.
  func cut() {
    // It can only fail because the client has already left, which is the aim.
    _ = shutdown(descriptor.number, Int32(SHUT_RDWR))
  }

  /// Valid while this object lives.
  var number: Int32 { descriptor.number }

  /// Ends our side; the client may go on sending.
  func endSending() {
    // As above.
    _ = shutdown(descriptor.number, Int32(SHUT_WR))
  }

  /// Discards some of what has arrived; returns the number of bytes, or nil when the client has closed.
  func discard() -> Int? {
    withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { buffer in
      let count = recv(descriptor.number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
      if count > 0 { return count }
      return count < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : nil
    }
  }
}
