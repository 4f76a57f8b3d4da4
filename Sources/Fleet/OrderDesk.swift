import JobSchedule
import Jobs
import ObjectGraph

/// The orders and questions that the lead has received and not answered.
///
/// Orders are on record until they are obeyed, also by the next lead. Questions are answered while somebody waits for them,
/// and only as many as leave the lead its time: each is a look at all jobs.
struct OrderDesk: Sendable {
  /// The jobs that are looked at in a millisecond, on the average, to answer questions: a twentieth of the lead's time.
  private static let looks: Int64 = 5_000

  private var orders: [PlacedOrder] = []
  private var questions: [PlacedOrder] = []
  /// The time on the steady clock before which no other question is answered.
  private var nextAnswer = Int64.min

  /// Receives an order or a question.
  mutating func receive(_ placed: PlacedOrder) {
    if case .ask = placed.order { questions.append(placed) } else { orders.append(placed) }
  }

  var orderCount: Int { orders.count }

  /// Hands out the first order; one that can't be obeyed yet is to be received once more.
  mutating func takeOrder() -> PlacedOrder? { orders.isEmpty ? nil : orders.removeFirst() }

  /// Takes the rows of orders as they are on record now, and drops orders that are not any more.
  mutating func renew(_ recorded: [PlacedOrder]) {
    orders = orders.compactMap { order in recorded.first { $0.host == order.host && $0.ticket == order.ticket } }
  }

  /// The jobs that the orders name.
  var jobs: Set<ManagedObjectID> { Set(orders.lazy.flatMap(\.order.jobs)) }

  /// The jobs that are to be replaced, which are unfinished from then on, whatever their records say.
  var unfinished: Set<ManagedObjectID> {
    var jobs: Set<ManagedObjectID> = []
    for order in orders { if case .replace(let new) = order.order { jobs.formUnion(new.lazy.map(\.job)) } }
    return jobs
  }

  /// The jobs of some names as they are once orders are obeyed.
  func unfinished(_ known: [String: NamedJob]) -> [String: NamedJob] {
    if orders.isEmpty || known.isEmpty { return known }
    let unfinished = unfinished
    return known.mapValues { unfinished.contains($0.id) ? NamedJob(id: $0.id, state: .available) : $0 }
  }

  // MARK: Rows

  /// Notes that jobs have ended since the rows of orders were read.
  mutating func note(_ ends: [ManagedObjectID: JobState]) {
    note { job in if let end = ends[job.id] { job.state = end } }
  }

  /// Notes that an attempt has ended since the rows of orders were read, and may have left something.
  mutating func note(_ run: Run, endedAs state: JobState?, isReverted: Bool) {
    note { job in
      if job.id != run.job { return }
      job.attempt = run.attempt
      if let state, state.isFinal { job.state = state }
      job.isPartial = !isReverted && (state?.isFinal != true || state == .quarantined)
    }
  }

  /// Notes that a job is replaced, in the rows that other orders have of it.
  mutating func note(_ replacement: JobReplacement) {
    note { job in
      if job.id != replacement.job { return }
      (job.specification, job.isPartial) = (replacement.specification, false)
      if job.state.isFinal { job.state = .available }
    }
  }

  private mutating func note(_ change: (inout FleetJob) -> Void) {
    for order in orders.indices {
      for job in orders[order].jobs.indices { change(&orders[order].jobs[job]) }
    }
  }

  // MARK: Questions

  /// The time on the steady clock at which a question can be answered; nil if there is none.
  var nextTime: Int64? { questions.isEmpty ? nil : nextAnswer }

  /// Answers the questions whose turn has come, and at no cost those for which nobody waits any more.
  mutating func answers(from schedule: Schedule, at now: Moment) -> [OrderAnswer] {
    if questions.isEmpty { return [] }
    var answers: [OrderAnswer] = []
    var rest: [PlacedOrder] = []
    for placed in questions {
      guard case .ask(let question, let until) = placed.order else { continue }
      if until <= now.wall {
        answers.append(placed.answer(.late))
      } else if now.steady >= nextAnswer {
        answers.append(placed.answer(schedule.answer(question, at: now)))
        nextAnswer = now.steady + Int64(schedule.count) / Self.looks
      } else {
        rest.append(placed)
      }
    }
    questions = rest
    return answers
  }
}

extension PlacedOrder {
  func answer(_ content: OrderAnswer.Content) -> OrderAnswer {
    OrderAnswer(host: host, ticket: ticket, content: content)
  }
}

extension Schedule {
  fileprivate func answer(_ question: Order.Question, at now: Moment) -> OrderAnswer.Content {
    switch question {
    case .explain(let id): return .explanation(state(of: id), obstacles(of: id, at: now))
    case .find(let selection):
      let (found, total) = find(selection)
      return .found(found, total: total)
    case .resources: return .resources(resourceViews.filter { $0.name.kindAndName != nil })
    }
  }
}
