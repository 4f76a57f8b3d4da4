internal import CMicroHTTPD
import Dispatch
import Synchronization

extension ServerCore.State {
  mutating func setDeadline(of connection: UInt64, after duration: Duration) {
    let deadline = DeadlineTimer.uptime(after: duration)
    table.update(connection) { $0.deadline = deadline }
    arm(deadline)
  }

  /// Moves the timer forward if this deadline is earlier; a later one is found when the timer fires.
  mutating func arm(_ deadline: UInt64) {
    if let armed, armed <= deadline { return }
    armed = deadline
    timer?.arm(at: deadline)
  }
}

extension ServerCore {
  /// Starts watching deadlines; `stopDeadlines` ends it.
  func startDeadlines(on queue: DispatchQueue) {
    let timer = DeadlineTimer(queue: queue) { [weak self] in self?.enforceDeadlines() }
    state.withLock { $0.timer = timer }
  }

  func stopDeadlines() {
    let timer = state.withLock { $0.timer.take() }
    timer?.cancel()
  }

  /// Cuts overdue connections and answers overdue requests with 504.
  private func enforceDeadlines() {
    let (sockets, exchanges) = state.withLock { state -> ([ConnectionSocket], [UInt64]) in
      state.armed = nil
      var sockets: [ConnectionSocket] = []
      var exchanges: [UInt64] = []
      for id in state.table.takeOverdue(at: DeadlineTimer.now) {
        guard let connection = state.table.connections[id] else { continue }
        if let exchange = connection.exchange, state.suspensions[exchange] != nil {
          exchanges.append(exchange)
        } else {
          sockets.append(connection.socket)
        }
      }
      if let next = state.table.earliestDeadline { state.arm(next) }
      return (sockets, exchanges)
    }
    for socket in sockets { socket.cut() }
    for exchange in exchanges {
      answer(
        exchange,
        with: .failure(
          504, code: "timeout", message: "There was no answer in time.", hint: "What was asked for may still happen."))
    }
  }

  /// Refuses new requests, answers all that wait, ends idle connections, and waits for the replies under way.
  func drain() {
    let (idle, waiting) = state.withLock { state -> ([ConnectionSocket], [UInt64]) in
      state.isStopping = true
      let idle = state.table.connections.values.filter { $0.exchange == nil }.map(\.socket)
      return (idle, Array(state.suspensions.keys))
    }
    for exchange in waiting { answer(exchange, with: .stopping) }
    for socket in idle { socket.cut() }
    _ = dispatched.wait(timeout: DispatchTime(uptimeNanoseconds: DeadlineTimer.uptime(after: limits.stopTimeout)))
    let rest = state.withLock { $0.table.connections.values.map(\.socket) }
    for socket in rest { socket.cut() }
  }

  /// Removes connections that the library dropped without a callback; called when it has stopped.
  func removeAll() {
    state.withLock { state in
      for id in Array(state.table.connections.keys) { state.table.remove(id) }
      state.answers = [:]
    }
  }
}
