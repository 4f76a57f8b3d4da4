internal import CMicroHTTPD
import Dispatch
import Foundation
import Synchronization
import SystemSupport

/// The state that the accept loop, the library's thread, the deadlines and the responders of a server share.
///
/// A connection is suspended and resumed under the lock: once resumed, the library may free it and stop its daemon, so
/// nobody may resume one by what the table said a moment ago. The library takes its own lock inside ours; it never calls
/// back while it holds it.
final class ServerCore: ExchangeOwner {
  // The pointer is used only under the lock while the connection is suspended, which keeps the library from freeing it.
  private struct Suspension: @unchecked Sendable {
    let handle: OpaquePointer
    let connection: UInt64
    /// The watch for the client's hang-up.
    var watch: ReadinessThread.Wait?
  }

  private struct State: Sendable {
    var streams: [UInt64: OpenStream] = [:]
    var table: ConnectionTable
    var suspensions: [UInt64: Suspension] = [:]
    /// The exchanges that have reached the handler and are not over, with the calls to make when they are.
    var ends: [UInt64: [@Sendable () -> Void]] = [:]
    /// Answers of resumed exchanges, until the library's thread sends them.
    var answers: [UInt64: HTTPResponse] = [:]
    var isStopping = false
    /// Connections that linger.
    var lingering: [ObjectIdentifier: LingeringSocket] = [:]
    var lastExchange: UInt64 = 0
    /// Arms the timer of the deadlines, while they are watched.
    var armTimer: (@Sendable (DispatchTime) -> Void)?
    /// The deadline that the timer is armed for.
    var armed: DispatchTime?

    mutating func setDeadline(of connection: UInt64, after duration: Duration) {
      let deadline = DispatchTime(after: duration)
      table.update(connection) { $0.deadline = deadline }
      arm(deadline)
    }

    /// Moves the timer forward if this deadline is earlier; a later one is found when the timer fires.
    mutating func arm(_ deadline: DispatchTime) {
      if let armed, armed <= deadline { return }
      armed = deadline
      armTimer?(deadline)
    }
  }

  let limits: HTTPServerLimits
  let handler: HTTPHandler
  let placeBody: HTTPBodyPlacer
  private let judge: @Sendable (PeerCredentials) -> PeerStanding
  private let state: Mutex<State>
  /// Entered by each request that reaches the handler, left when its reply is sent or its client has left.
  private let dispatched = DispatchGroup()
  let heldBodies = HeldBodies()
  let passedFiles = PassedFilesTable()
  /// The queue that packs long replies which were there at once.
  let formingQueue = DispatchQueue(label: "http.forming")
  /// The queue that discards what clients still send after a refusal.
  private let lingeringQueue = DispatchQueue(label: "http.lingering")
  /// The most connections that linger at a time; beyond that a client may miss its reply.
  private static let lingeringLimit = 32

  init(
    limits: HTTPServerLimits, judge: @escaping @Sendable (PeerCredentials) -> PeerStanding,
    placeBody: @escaping HTTPBodyPlacer, handler: @escaping HTTPHandler
  ) {
    self.limits = limits
    self.judge = judge
    self.placeBody = placeBody
    self.handler = handler
    state = Mutex(State(table: ConnectionTable(limits: limits)))
  }

  // MARK: Connections

  var connectionCount: Int { state.withLock { $0.table.connections.count } }

  /// The standing of a peer; one whom the kernel does not vouch for is a user like others.
  func standing(of peer: PeerCredentials?) -> PeerStanding {
    guard let peer else { return .user }
    return state.withLock { $0.table.standing(of: peer) } ?? judge(peer)
  }

  /// Adds an accepted connection; nil when its user or everybody together has too many, or when stopping.
  func add(
    _ socket: ConnectionSocket, descriptor: Int32, client: HTTPClient, _ standing: PeerStanding
  ) -> UInt64? {
    state.withLock { state in
      guard !state.isStopping else { return nil }
      let deadline = DispatchTime(after: limits.requestTimeout)
      let id = state.table.add(
        socket, descriptor: descriptor, client: client, standing: standing, deadline: deadline)
      if id != nil { state.arm(deadline) }
      return id
    }
  }

  func begin(descriptor: Int32) -> UInt64? {
    state.withLock { $0.table.begin(descriptor: descriptor) }
  }

  func remove(_ connection: UInt64) {
    let removed = state.withLock { $0.table.remove(connection) }
    passedFiles.take(of: connection)
    if removed?.isAwaited == true { dispatched.leave() }
    if let removed, removed.hasUnreadBody { linger(removed.socket) }
  }

  /// Keeps a finished connection until its client has stopped sending, so that it can read the refusal.
  func linger(_ socket: ConnectionSocket) {
    let id = ObjectIdentifier(socket)
    let lingering = LingeringSocket(socket) { [weak self] in self?.state.withLock { $0.lingering[id] = nil } }
    let isKept = state.withLock { state in
      guard !state.isStopping, state.lingering.count < Self.lingeringLimit else { return false }
      state.lingering[id] = lingering
      return true
    }
    if isKept { lingering.begin(within: limits.lingeringTimeout, on: lingeringQueue) }
  }

  /// Notes that a request is refused before its body is read.
  func expectUnreadBody(on connection: UInt64) {
    state.withLock { state in state.table.update(connection) { $0.hasUnreadBody = true } }
  }

  func setTarget(_ target: String, of connection: UInt64) {
    state.withLock { $0.table.update(connection) { $0.target = target } }
  }

  /// Gives a connection the time for a large body.
  func expectLargeBody(on connection: UInt64) {
    state.withLock { $0.setDeadline(of: connection, after: limits.sinkTimeout) }
  }

  /// The current request's target and the connection's client.
  func origin(of connection: UInt64) -> (target: String, client: HTTPClient)? {
    state.withLock { $0.table.connections[connection].map { ($0.target, $0.client) } }
  }

  var isStopping: Bool { state.withLock(\.isStopping) }

  func nextExchange() -> UInt64 {
    state.withLock { state in
      state.lastExchange += 1
      return state.lastExchange
    }
  }

  // MARK: Suspending and resuming

  /// Suspends a request until it is answered; false when too many wait or the server is stopping.
  func suspend(_ exchange: Exchange, handle: OpaquePointer, within duration: Duration?) -> Bool {
    let suspension = Suspension(handle: handle, connection: exchange.connection)
    let id = exchange.id
    return state.withLock { state in
      guard !state.isStopping, state.suspensions.count < limits.waitingRequests else { return false }
      cmhd_set_early_look(suspension.handle, true)
      MHD_suspend_connection(suspension.handle)
      state.suspensions[id] = suspension
      state.setDeadline(of: suspension.connection, after: duration ?? limits.replyTimeout)
      return true
    }
  }

  /// Watches for the hang-up of a client whose request is suspended: the library does not look at such connections.
  func watchClient(of exchange: Exchange) {
    let (id, connection) = (exchange.id, exchange.connection)
    guard let socket = state.withLock({ $0.suspensions[id] == nil ? nil : $0.table.connections[connection]?.socket })
    else { return }
    // The call holds the socket, so that its number stays its own while it is watched. Without a watch the request
    // still has its deadline.
    let watch = try? ReadinessThread.shared.whenHungUp(socket.number) { [weak self] in
      withExtendedLifetime(socket) { _ = self?.resume(id, with: nil) }
    }
    let isSuspended = state.withLock { state in
      state.suspensions[id]?.watch = watch
      return state.suspensions[id] != nil
    }
    if !isSuspended, let watch { _ = ReadinessThread.shared.cancel(watch) }
  }

  @discardableResult
  func answer(_ exchange: UInt64, with response: HTTPResponse) -> Bool { resume(exchange, with: response) }

  /// Gives a suspended exchange back to the library; without a response its connection is closed.
  private func resume(_ exchange: UInt64, with response: HTTPResponse?) -> Bool {
    let suspension = state.withLock { state -> Suspension? in
      guard let suspension = state.suspensions.removeValue(forKey: exchange) else { return nil }
      state.answers[exchange] = response
      state.setDeadline(of: suspension.connection, after: limits.requestTimeout)
      MHD_resume_connection(suspension.handle)
      return suspension
    }
    if let watch = suspension?.watch { _ = ReadinessThread.shared.cancel(watch) }
    return suspension != nil
  }

  func isWaiting(_ exchange: UInt64) -> Bool { state.withLock { $0.suspensions[exchange] != nil } }

  func whenOver(_ exchange: UInt64, _ call: @escaping @Sendable () -> Void) {
    let isOver = state.withLock { state in
      state.ends[exchange]?.append(call)
      return state.ends[exchange] == nil
    }
    if isOver { call() }
  }

  func removeAnswer(_ exchange: UInt64) -> HTTPResponse? {
    state.withLock { $0.answers.removeValue(forKey: exchange) }
  }

  /// Notes that a complete request goes to the handler: stopping waits for it from now on.
  func dispatch(_ exchange: Exchange) {
    exchange.isDispatched = true
    dispatched.enter()
    let (id, connection) = (exchange.id, exchange.connection)
    let wasAwaited = state.withLock { state in
      state.ends[id] = []
      let wasAwaited = state.table.connections[connection]?.isAwaited == true
      state.table.update(connection) { ($0.exchange, $0.isNew, $0.isAwaited) = (id, false, false) }
      state.setDeadline(of: connection, after: limits.requestTimeout)
      return wasAwaited
    }
    if wasAwaited { dispatched.leave() }
  }

  /// Notes that a reply was sent or its client has left: the connection's next request may come.
  func finish(_ exchange: Exchange) {
    let (id, connection) = (exchange.id, exchange.connection)
    let (ends, stream) = state.withLock { state in
      state.answers[id] = nil
      state.table.update(connection) { $0.exchange = nil }
      state.setDeadline(of: connection, after: limits.requestTimeout)
      return (state.ends.removeValue(forKey: id) ?? [], state.streams.removeValue(forKey: id))
    }
    if let watch = stream?.watch { _ = ReadinessThread.shared.cancel(watch) }
    stream?.source.end()
    for call in ends { call() }
    if exchange.isDispatched { dispatched.leave() }
  }
}

/// Bodies that come bit by bit.
extension ServerCore {
  /// Notes that a stream begins; false when there are too many, or the server is stopping.
  func openStream(_ body: StreamedBody) -> Bool {
    let id = body.exchange
    let opened = OpenStream(handle: body.handle, source: body.source)
    let socket = state.withLock { state -> ConnectionSocket? in
      guard !state.isStopping, state.streams.count < limits.streams else { return nil }
      state.streams[id] = opened
      return state.table.connections[body.connection]?.socket
    }
    guard let socket else { return state.withLock { $0.streams[id] != nil } }
    // The library does not notice that the client of a suspended connection has left. Without a watch it is noticed when
    // something is sent.
    let watch = try? ReadinessThread.shared.whenHungUp(socket.number) { [weak self] in
      withExtendedLifetime(socket) { self?.cutStream(id) }
    }
    state.withLock { $0.streams[id]?.watch = watch }
    return true
  }

  func streamState(_ id: UInt64) -> OpenStream.State {
    state.withLock { $0.isStopping ? .ending : $0.streams[id]?.isCut == false ? .open : .cut }
  }

  /// Suspends a stream whose source has nothing; false if it may have something by now, or the stream is to end.
  func suspendStream(_ body: StreamedBody) -> Bool {
    let (id, connection) = (body.exchange, body.connection)
    return state.withLock { state in
      guard let stream = state.streams[id], !stream.isWoken, !stream.isCut, !state.isStopping else {
        state.streams[id]?.isWoken = false
        return false
      }
      cmhd_set_early_look(stream.handle, true)
      MHD_suspend_connection(stream.handle)
      state.streams[id]?.isSuspended = true
      // It owes nobody anything until there is something.
      state.table.update(connection) { $0.deadline = nil }
      return true
    }
  }

  func wakeStream(_ id: UInt64) { state.withLock { resume(id, &$0) } }

  private func cutStream(_ id: UInt64) {
    state.withLock { state in
      state.streams[id]?.isCut = true
      resume(id, &state)
    }
  }

  private func resume(_ id: UInt64, _ state: inout State) {
    guard let stream = state.streams[id] else { return }
    state.streams[id]?.isWoken = stream.isWoken || !stream.isSuspended
    state.streams[id]?.isSuspended = false
    if stream.isSuspended { MHD_resume_connection(stream.handle) }
  }

  /// Gives a client the time to read what was handed to the library.
  func noteStreamed(on connection: UInt64, isDocument: Bool) {
    let time = isDocument ? limits.documentTimeout : limits.requestTimeout
    state.withLock { $0.setDeadline(of: connection, after: time) }
  }
}

extension ServerCore {
  /// Starts watching deadlines; `stopDeadlines` ends it.
  func startDeadlines(on queue: DispatchQueue) {
    let timer = OneShotTimer(queue: queue)
    state.withLock { state in
      state.armTimer = { moment in timer.arm(at: moment) { [weak self] in self?.enforceDeadlines() } }
    }
  }

  func stopDeadlines() {
    // To drop the timer is to cancel it; not under the lock.
    _ = state.withLock { $0.armTimer.take() }
  }

  /// Cuts overdue connections and answers overdue requests with 504.
  private func enforceDeadlines() {
    let (late, exchanges) = state.withLock { state -> ([UInt64: ConnectionSocket], [UInt64]) in
      state.armed = nil
      var late: [UInt64: ConnectionSocket] = [:]
      var exchanges: [UInt64] = []
      for id in state.table.dequeueOverdue(at: .now()) {
        guard let connection = state.table.connections[id] else { continue }
        if let exchange = connection.exchange, state.suspensions[exchange] != nil {
          exchanges.append(exchange)
        } else {
          late[id] = connection.socket
        }
      }
      if let next = state.table.earliestDeadline { state.arm(next) }
      return (late, exchanges)
    }
    for (id, socket) in late {
      socket.cut()
      heldBodies.giveUp(id)
    }
    for exchange in exchanges {
      answer(
        exchange,
        with: .failure(
          504, code: "timeout", message: "there was no reply in time", hint: "the request may still be carried out"))
    }
  }

  /// Answers all that wait, ends idle connections, and waits for the replies under way, also to clients whose connection was
  /// accepted and whose first request is not here yet: they would see it cut.
  func drain() {
    let (idle, waiting, streams) = state.withLock { state -> ([ConnectionSocket], [UInt64], [UInt64]) in
      state.isStopping = true
      for (id, connection) in state.table.connections where connection.isNew {
        dispatched.enter()
        state.table.update(id) { $0.isAwaited = true }
      }
      let idle = state.table.connections.values.filter { $0.exchange == nil && !$0.isNew }.map(\.socket)
      return (idle, Array(state.suspensions.keys), Array(state.streams.keys))
    }
    for exchange in waiting { answer(exchange, with: .stopping) }
    heldBodies.stop()
    for stream in streams { wakeStream(stream) }
    for socket in idle { socket.cut() }
    if dispatched.wait(timeout: DispatchTime(after: limits.firstRequestTimeout)) == .timedOut {
      let silent = state.withLock { $0.table.connections.values.filter(\.isAwaited).map(\.socket) }
      for socket in silent { socket.cut() }
      _ = dispatched.wait(timeout: DispatchTime(after: limits.stopTimeout))
    }
    let rest = state.withLock { $0.table.connections.values.map(\.socket) }
    for socket in rest { socket.cut() }
  }

  /// Removes connections that the library dropped without a callback; called when it has stopped.
  func removeAll() {
    state.withLock { state in
      for id in Array(state.table.connections.keys) {
        if state.table.remove(id)?.isAwaited == true { dispatched.leave() }
      }
      state.answers = [:]
    }
  }
}
