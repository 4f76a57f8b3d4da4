import Fleet
import JobSchedule

/// A request on its way to the ledger and back.
final class Call {
  let process: Process
  let channel: MemberChannel
  let request: LedgerRequest
  let sentAt: Int64
  var transaction: MemoryLedger.Transaction?
  var disturbance: FleetProgram.Disturbance?
  var isAnswered = false
  /// The timeline of the server that has executed it.
  var timeline: Int64?

  init(_ process: Process, _ channel: MemberChannel, _ request: LedgerRequest, sentAt: Int64) {
    self.process = process
    self.channel = channel
    self.request = request
    self.sentAt = sentAt
  }
}

/// How requests get to the ledger and back, and what happens to them on the way.
extension FleetWorld {
  func send(_ request: LedgerRequest, _ channel: MemberChannel, _ process: Process) {
    let call = Call(process, channel, request, sentAt: steady(of: process.machine))
    let machine = process.machine
    if let index = machine.disturbances.firstIndex(where: { $0.channel == channel.rawValue }) {
      call.disturbance = machine.disturbances[index].kind
      machine.disturbances[index].count -= 1
      if machine.disturbances[index].count == 0 { machine.disturbances.remove(at: index) }
      let delay: Int64 = if case .hangingCommit(let delay)? = call.disturbance { delay } else { 0 }
      machine.lastExcuse = max(machine.lastExcuse, now + delay + 4_000)
      noteTrouble(until: now + delay + 4_000)
    }
    judge.noteSent(request, at: now)
    switch call.disturbance {
    case .unsent: enqueue(.answer(call, .failure(.unavailable)), at: now + random.time(5..<1_000))
    case .late(let delay):
      enqueue(.answer(call, .failure(.unknown)), at: now + random.time(5..<100))
      enqueue(.execute(call), at: now + delay)
    default: enqueue(.execute(call), at: now + random.time(1..<4))
    }
  }

  func execute(_ call: Call) throws {
    if isAway || (now < call.process.machine.cutUntil && call.transaction == nil) {
      if let transaction = call.transaction { ledger.abort(transaction) }
      let error: LedgerError = call.transaction == nil ? .unavailable : .unknown
      return enqueue(.answer(call, .failure(error)), at: now + random.time(5..<2_000))
    }
    let transaction = call.transaction ?? ledger.begin(call.request, from: call.process.member?.number ?? 0)
    call.transaction = transaction
    while true {
      // The client sends the statements, so a stopped or slow one leaves its transaction open.
      if let resumption = interruption(of: call, transaction) {
        if resumption - transaction.start > 2_000 {
          // The server gives up transactions that are idle for so long.
          ledger.abort(transaction)
          return enqueue(.answer(call, .failure(.unavailable)), at: resumption)
        }
        return enqueue(.execute(call), at: resumption)
      }
      if transaction.isComplete, !transaction.isAborted, case .hangingCommit(let delay)? = call.disturbance {
        call.disturbance = nil
        transaction.isCommitting = true
        return enqueue(.execute(call), at: now + delay)
      }
      switch ledger.step(transaction) {
      case .more: continue
      case .blocked:
        if now - transaction.start < 2_000 { return enqueue(.execute(call), at: now + 7) }
        ledger.abort(transaction)
        return enqueue(.answer(call, .failure(.unavailable)), at: now + 1)
      case .ended(let result):
        if case .success(let reply) = result { try judge.judge(call, reply, in: self) }
        return reply(to: call, result)
      }
    }
  }

  /// The time at which the client sends the next statement, if it does not do so now.
  private func interruption(of call: Call, _ transaction: MemoryLedger.Transaction) -> Int64? {
    guard transaction.nextStatement > 0, !transaction.isAborted, !transaction.isCommitting else { return nil }
    if case .pause(let statement, let delay) = call.disturbance, statement == transaction.nextStatement {
      call.disturbance = nil
      return now + delay
    }
    let machine = call.process.machine
    return machine.stoppedUntil > now && !call.process.isDead ? machine.stoppedUntil : nil
  }

  private func reply(to call: Call, _ result: Result<LedgerReply, LedgerError>) {
    call.timeline = ledger.server.timeline
    if now < call.process.machine.cutUntil { return lose(call) }
    switch call.disturbance {
    case .answerLost: lose(call)
    case .slowAnswer(let delay): enqueue(.answer(call, result), at: now + delay)
    default: enqueue(.answer(call, result), at: now + random.time(1..<4))
    }
  }

  private func lose(_ call: Call) { enqueue(.answer(call, .failure(.unknown)), at: now + random.time(5..<2_000)) }

  func answer(_ call: Call, _ result: Result<LedgerReply, LedgerError>) {
    if call.isAnswered { return }
    call.isAnswered = true
    let process = call.process
    // What a server has answered that is gone by now does not arrive.
    let isOld = call.timeline.map { $0 != ledger.server.timeline } ?? false
    let result = isOld ? .failure(.unknown) : result
    if case .success(.beaten) = result { process.isSetBack = false }
    guard case .join = call.request else {
      let hasLed = process.member?.lead != nil
      deliver(.answered(call.channel, result, sentAt: call.sentAt), to: process)
      if !hasLed, process.member?.lead != nil { process.leadsSince = now }
      return
    }
    guard case .success(.joined(let number, let time)) = result else { return join(process) }
    let clock = FleetClock(serverTime: time, receivedAt: steady(of: process.machine))
    process.member = FleetMember(
      number: number, joinSentAt: call.sentAt, clock: clock, times: times(of: process.machine), agingStep: 60_000)
    process.machine.lastExcuse = max(process.machine.lastExcuse, now)
    deliver(.beatDue, to: process)
    if !process.machine.spool.isEmpty { deliver(.admit(process.machine.spool), to: process) }
  }
}
