/// One writing connection of a host: numbers its transactions, one at a time, and finds out about lost answers.
package struct WritingSlot: Sendable {
  /// The consequence of an answer.
  package enum Step: Sendable {
    /// The request is answered.
    case answered(LedgerReply)
    /// The request was written, and its answer is lost for good.
    case written
    /// This request is to be made next, at once.
    case send(LedgerRequest)
    /// This request is to be made next, after ``FleetTimes/retry``.
    case sendLater(LedgerRequest)
    /// The server refuses the request for good, for a reason.
    case impossible(String)
    /// The host was fenced.
    case fenced
    /// The ledger contradicts itself.
    case contradiction
    /// Another server has answered, which may lack what was known.
    case setBack
  }

  private let host: Int
  private let life: Int64
  private var slot: Int
  private var number: Int64 = 0
  /// See ``Receipt/timeline``.
  var timeline: Int64?
  private var pending: LedgerRequest?
  /// True while it is being found out whether the pending request was written.
  private var isAsking = false
  /// True if the pending request was made again, since its first answer was lost.
  private var isRepeated = false

  /// - Parameters:
  ///   - slot: the number that the slot had when its host joined.
  ///   - life: the transactions after which it is replaced.
  init(host: Int, slot: Int, life: Int64) {
    self.host = host
    self.slot = slot
    self.life = life
  }

  /// True if no request is under way.
  package var isIdle: Bool { pending == nil }

  /// True if the slot has to be replaced before its next transaction.
  var isOld: Bool { number >= life }

  /// Begins a transaction.
  mutating func begin(_ make: (Receipt) -> LedgerRequest) -> LedgerRequest {
    number += 1
    let request = make(receipt)
    pending = request
    return request
  }

  /// Begins a request that carries no receipt.
  mutating func begin(_ request: LedgerRequest) { pending = request }

  /// The replacement of the slot; numbers of slots are used once, and 3 of them are in use.
  var replacement: LedgerRequest { .replaceSlot(host: host, old: slot, new: slot + 3) }

  private var receipt: Receipt { Receipt(host: host, slot: slot, number: number, timeline: timeline) }

  /// Returns what follows from an answer to the last request.
  mutating func handle(_ result: Result<LedgerReply, LedgerError>) -> Step {
    guard let pending else { return .contradiction }
    switch result {
    case .success(.outcome(isWritten: true)): return end(.written)
    case .success(.outcome(isWritten: false)):
      isAsking = false
      defer { isRepeated = true }
      // What loses its answer again and again must not keep the server busy.
      return isRepeated ? .sendLater(pending) : .send(pending)
    case .success(let reply):
      if case .replaceSlot(_, _, let new) = pending { (slot, number) = (new, 0) }
      // Nothing was written, so that the number is free.
      if case .refused = reply { number -= 1 }
      return end(.answered(reply))
    case .failure(.unavailable): return .sendLater(isAsking ? .outcome(of: receipt) : pending)
    case .failure(.unknown), .failure(.stale):
      if pending.isRepeatable { return .sendLater(pending) }
      isAsking = true
      return .send(.outcome(of: receipt))
    case .failure(.impossible(let reason)):
      if !pending.isRepeatable && !isAsking { number -= 1 }
      return end(.impossible(reason))
    case .failure(.fenced): return end(.fenced)
    case .failure(.contradiction): return end(.contradiction)
    case .failure(.setBack): return end(.setBack)
    }
  }

  private mutating func end(_ step: Step) -> Step {
    pending = nil
    (isAsking, isRepeated) = (false, false)
    return step
  }
}
