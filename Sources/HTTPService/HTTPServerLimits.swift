/// The limits of a server; its memory is at most connections times header and body bytes, plus the replies.
package struct HTTPServerLimits: Sendable {
  /// Open connections of all clients together.
  package var connections = 128
  /// More of them, for owners only.
  package var reservedConnections = 0
  /// Open connections of one user on a Unix socket, or of one network on TCP; more are answered with status 503 and closed.
  package var connectionsPerUser = 64
  /// Open connections of one stranger.
  package var connectionsPerStranger = 64
  /// Open connections of all strangers together.
  package var strangerConnections = 128
  /// Requests waiting for a later reply; more get status 503. Each holds its connection.
  package var waitingRequests = 64
  /// Streams at a time; more get status 503. Each holds its connection.
  package var streams = 64
  /// Open files that clients of a Unix socket have passed before their first requests, at a time, until they are closed; 0
  /// takes none.
  package var passedFiles = 0
  /// The same for each user.
  package var passedFilesPerUser = Int.max
  /// The library's memory per connection, which the request line and all header fields must fit in.
  package var headerBytes = 32 << 10
  /// Larger bodies get status 413 before they are read.
  package var bodyBytes = 1 << 20
  /// The time from connecting, or from the last reply, to a complete request; also for reading a reply.
  ///
  /// This is absolute: bytes that trickle in don't extend it. After it the connection is closed.
  package var requestTimeout = Duration.seconds(20)
  /// The time for a request whose body goes to a sink.
  package var sinkTimeout = Duration.seconds(600)
  /// The time in which a client must take each piece of a document that is made while it is sent; long enough for one who
  /// reads it in a pager.
  package var documentTimeout = Duration.seconds(600)
  /// The time for a later reply unless the handler sets another; after it the client gets status 504.
  package var replyTimeout = Duration.seconds(300)
  /// The time for which a client may go on sending a body after its request was refused; the body is discarded.
  package var lingeringTimeout = Duration.seconds(5)
  /// The time for which stopping waits for the first request of clients that have just connected.
  package var firstRequestTimeout = Duration.seconds(1)
  /// The time for which stopping waits for clients to read their last replies.
  package var stopTimeout = Duration.seconds(2)

  package init() {}
}

/// The standing of a Unix socket's peer, which decides how many connections it gets.
package enum PeerStanding: Sendable, Hashable, CaseIterable {
  /// Runs the service: has reserved connections, and no limit of its own.
  case owner
  /// Uses the service.
  case user
  /// May do next to nothing: gets few connections, and all strangers together only a part of them.
  case stranger
}
