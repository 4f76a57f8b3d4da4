import JSONText
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

  /// An order whose turn has not come yet, and a job that it waits for.
  struct Waiting: Sendable {
    /// Without its rows.
    let placed: PlacedOrder
    var awaited: ManagedObjectID?

    fileprivate var number: Number { Number(host: placed.host, ticket: placed.ticket) }
    fileprivate var replaces: Bool { if case .replace = placed.order { true } else { false } }
  }

  private struct Turn {
    let number: Number
    let replaces: Bool
  }

  fileprivate struct Number: Hashable {
    let host: Int
    let ticket: Int64
  }

  private var orders: [Waiting] = []
  /// The rows of the jobs that orders name, as the lead has had them, with what it has done since.
  private var rows: [ManagedObjectID: FleetJob] = [:]
  /// The orders that name a job, in their order.
  private var turns: [ManagedObjectID: [Turn]] = [:]
  private var questions: [PlacedOrder] = []
  /// The time on the steady clock before which no other question is answered.
  private var nextAnswer = Int64.min

  /// Receives an order or a question.
  mutating func receive(_ placed: PlacedOrder) {
    if case .ask = placed.order { return questions.append(placed) }
    // What the lead knows of a job may not be on record yet.
    for row in placed.jobs where rows[row.id] == nil { rows[row.id] = row }
    // Rows come without arguments where many jobs are named.
    if case .edit(let change) = placed.order, let row = placed.jobs.first {
      rows[change.job]?.specification.arguments = row.specification.arguments
    }
    let order = Waiting(placed: PlacedOrder(host: placed.host, ticket: placed.ticket, order: placed.order, jobs: []))
    let turn = Turn(number: order.number, replaces: order.replaces)
    for job in placed.order.jobs { turns[job, default: []].append(turn) }
    orders.append(order)
  }

  /// Hands out the orders; each is to be finished, or postponed.
  mutating func takeOrders() -> [Waiting] {
    defer { orders = [] }
    return orders
  }

  /// Takes an order back whose turn has not come.
  mutating func postpone(_ order: Waiting) { orders.append(order) }

  /// Forgets an order that is answered.
  mutating func finish(_ order: Waiting) {
    for job in order.placed.order.jobs {
      turns[job]?.removeAll { $0.number == order.number }
      if turns[job]?.isEmpty == true { (turns[job], rows[job]) = (nil, nil) }
    }
  }

  /// True if no earlier order for a job waits that this one has to wait for.
  ///
  /// Only a replacement waits for one, which may take as long as a run: others are told that it is under way.
  func isTurn(of order: Waiting, at job: ManagedObjectID) -> Bool {
    guard let first = turns[job]?.first(where: { order.replaces || !$0.replaces }) else { return false }
    return first.number == order.number
  }

  /// True if an earlier order than this one is to replace a job.
  func isToBeReplaced(_ job: ManagedObjectID, before placed: PlacedOrder) -> Bool {
    let number = Number(host: placed.host, ticket: placed.ticket)
    return turns[job]?.prefix { $0.number != number }.contains(where: \.replaces) ?? false
  }

  /// Takes the rows of orders as they are on record now, and drops orders that are not any more.
  mutating func renew(_ recorded: [PlacedOrder]) {
    let rows = Dictionary(recorded.map { (Number(host: $0.host, ticket: $0.ticket), $0) }) { first, _ in first }
    let known = takeOrders()
    for order in known { finish(order) }
    for order in known { if let placed = rows[order.number] { receive(placed) } }
  }

  /// True if an order names a job.
  func names(_ job: ManagedObjectID) -> Bool { turns[job] != nil }

  /// True if a job is to be replaced: it is unfinished from then on, whatever its record says.
  func isToBeReplaced(_ job: ManagedObjectID) -> Bool { turns[job]?.contains(where: \.replaces) ?? false }

  /// A job as it is once orders are obeyed.
  func asToBe(_ job: NamedJob) -> NamedJob {
    isToBeReplaced(job.id) ? NamedJob(id: job.id, state: .available) : job
  }

  // MARK: Rows

  /// The row of a job that an order names; nil if there is no such job.
  func row(of job: ManagedObjectID) -> FleetJob? { rows[job] }

  /// Notes that jobs have ended since the rows of orders were read.
  mutating func note(_ ends: [ManagedObjectID: JobState]) { for (job, end) in ends { rows[job]?.state = end } }

  /// Notes that an attempt has ended since the rows of orders were read, and may have left something.
  mutating func note(_ ended: EndedRun, as state: JobState?) {
    let job = ended.run.job
    rows[job]?.attempt = ended.run.attempt
    if let state, state.isFinal { rows[job]?.state = state }
    rows[job]?.isPartial = !ended.isReverted && (state?.isFinal != true || state == .quarantined)
  }

  /// Notes that a job is replaced, in the row that other orders have of it.
  mutating func note(_ replacement: JobReplacement) {
    let job = replacement.job
    rows[job]?.specification = replacement.specification
    rows[job]?.isPartial = false
    if rows[job]?.state.isFinal == true { rows[job]?.state = .available }
  }

  /// Notes that a job has other arguments, in the row that other orders have of it.
  mutating func note(_ arguments: JSONValue, of job: ManagedObjectID) { rows[job]?.specification.arguments = arguments }

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
    case .states(let jobs):
      let found = jobs.compactMap { job in state(of: job).map { OrderAnswer.FoundJob(job: job, state: $0) } }
      return .found(found, total: found.count)
    case .resources: return .resources(resourceViews.filter { $0.name.kindAndName != nil })
    }
  }
}
