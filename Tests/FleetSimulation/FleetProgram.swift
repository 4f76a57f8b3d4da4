import Jobs

/// What a seed makes: a fleet, and what is done to it at which time.
package struct FleetProgram: Sendable {
  /// A fault or a wish, at a time in milliseconds.
  struct Step: Sendable {
    let time: Int64
    let action: Action
  }

  enum Action: Sendable {
    /// Drops jobs into a machine's spool.
    case submit(machine: Int, [Job])
    case order(machine: Int, Wish)
    /// Kills a machine's process, and starts it again after a time.
    case kill(machine: Int, restart: Int64)
    /// Kills whoever leads.
    case killLead(restart: Int64)
    /// Stops a machine's process for a time, as SIGSTOP does.
    case stop(machine: Int, Int64)
    /// Cuts a machine off the database for a time; what it has sent may still be executed.
    case cut(machine: Int, Int64)
    /// The database is away for a time; what was committed stays.
    case outage(Int64)
    /// A standby takes the server's place; if nobody has waited for it, it lacks what was committed in the last milliseconds.
    case failover(losing: Int64)
    /// Nobody gets hints for a time.
    case deafness(Int64)
    /// Has the next requests of a machine go wrong.
    case disturb(machine: Int, MemberChannelSet, Disturbance, count: Int)
    /// Another program has a transaction open for a time, in which it has written something.
    case foreignTransaction(Int64)
    /// Has the lead remove all jobs that are final.
    case remove
    /// Compares the lead's schedule with one that is made anew.
    case compare
  }

  /// A channel of a machine, by its number in `MemberChannel`.
  typealias MemberChannelSet = Int

  enum Disturbance: Sendable, Equatable {
    /// It is executed, and the answer is lost.
    case answerLost
    /// The connection breaks, and the server executes it so much later.
    case late(Int64)
    /// It never reaches the server.
    case unsent
    /// The client waits so long before a statement of the transaction.
    case pause(before: Int, Int64)
    /// The answer takes so long.
    case slowAnswer(Int64)
    /// The commit takes so long, in which nobody sees it and others wait for its rows: a standby or a disk does not answer.
    case hangingCommit(Int64)
  }

  enum Wish: Sendable {
    case pause(queue: Int, Bool)
    case drain(machine: Int, Bool)
    case cancel(job: Int)
    case hold(job: Int, Bool)
    case retry(job: Int)
    case priority(job: Int, Int)
    /// Replaces a job by one of another priority.
    case replace(job: Int, priority: Int)
    case delete(job: Int)
  }

  /// A job; its number is its name.
  struct Job: Sendable {
    let number: Int
    var queue = 0
    var priority = 0
    var limit: Int?
    /// The seconds in which two jobs may start, of those that have the same; nil for any number.
    var ratePeriod: Int?
    var unique: Int?
    var after: [Int] = []
    var mayFail = false
    var batch: Int?
    var afterBatch: Int?
    var delay: Int64 = 0
    var place: Int?
    /// The milliseconds that an attempt takes.
    var duration: Int64 = 50
    /// The number of attempts that fail before one succeeds; ten for a job that is given up.
    var failures = 0
  }

  let seed: UInt64
  var machines: Int
  var slots: Int
  /// The machines behind a pooler: they hear no hints of others, and a takeover of one ends no backends.
  var pooledMachines: Set<Int> = []
  /// True if commits wait for a standby.
  var isReplicated = false
  /// The jobs that a new lead reads at a time.
  var jobsAtOnce = 10_000
  var steps: [Step] = []

  /// The jobs of all steps.
  var jobs: [Job] {
    steps.flatMap { step -> [Job] in if case .submit(_, let jobs) = step.action { jobs } else { [] } }
  }
}

extension FleetProgram: CustomStringConvertible {
  private var kind: String {
    "\(pooledMachines.sorted()) behind a pooler" + (isReplicated ? ", replicated" : "")
      + ", jobs read \(jobsAtOnce) at a time"
  }

  package var description: String {
    (["// seed \(seed): \(machines) machines with \(slots) slots, \(kind)"]
      + steps.map { "at \($0.time) ms: \($0.action)" }).joined(separator: "\n")
  }
}

/// Random choices that are the same in each run (SplitMix64, G. Steele and others).
struct RandomSource: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0xD129_0DA9_8B2F_3A41 &+ 0x1F83_D9AB_FB41_BD6B }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True in so many of a hundred cases.
  mutating func chance(_ percent: Int) -> Bool { number(0..<100) < percent }

  mutating func number(_ range: Range<Int>) -> Int {
    range.lowerBound + Int(truncatingIfNeeded: next() % UInt64(range.count))
  }

  mutating func time(_ range: Range<Int>) -> Int64 { Int64(number(range)) }
}

extension FleetProgram {
  /// Makes the program of a seed.
  ///
  /// - Parameters:
  ///   - isCalm: true for one in which hosts die and nothing else happens; nil for some of the seeds.
  ///   - mixesPoolers: true to have some machines of a fleet behind a pooler, false to have all or none.
  package init(seed: UInt64, isCalm wanted: Bool? = nil, mixesPoolers: Bool = true) {
    var random = RandomSource(seed: seed)
    self.seed = seed
    machines = random.number(2..<4)
    if seed % 2 == 1 { jobsAtOnce = Int(seed / 2 % 8) + 1 }
    slots = random.number(1..<4)
    if !random.chance(70) {
      let all = Set(0..<machines)
      // By the seed alone: with another random number the seeds that found faults would make other programs.
      let some = all.filter { seed >> (4 + $0) & 1 == 1 }
      pooledMachines = mixesPoolers && !some.isEmpty ? some : all
    }
    var count = 0
    // Deaths and nothing else show how soon work goes on.
    let isSometimesCalm = random.chance(15)
    let isCalm = wanted ?? isSometimesCalm
    for _ in 0..<random.number(1..<4) {
      let jobs = (0..<random.number(1..<5)).map { _ in
        defer { count += 1 }
        return Job(number: count, of: machines, &random)
      }
      add(.submit(machine: random.number(0..<machines), jobs), at: random.time(0..<3_000))
    }
    if isCalm {
      let restart = random.time(6_000..<9_000)
      let machine = random.number(0..<machines)
      let time = random.time(200..<6_000)
      let deaths: [Action] = [.killLead(restart: restart), .kill(machine: machine, restart: restart)].shuffled(
        using: &random)
      add(deaths[0], at: time)
      if machines > 2, random.chance(30) { add(deaths[1], at: time) }
      steps.sort { $0.time < $1.time }
      return
    }
    for _ in 0..<random.number(0..<5) {
      let time = random.time(0..<5_000)
      let action = fault(&random, jobCount: count)
      add(action, at: time)
      // A job that comes while a host is being buried.
      if case .kill(let machine, let restart) = action, random.chance(40) {
        let other = (machine + 1) % machines
        add(
          .submit(machine: other, [Job(number: count, of: machines, &random)]), at: time + restart + random.time(0..<9))
        count += 1
      }
      // An outage that one host sleeps through.
      if case .stop(_, let duration) = action, duration > 4_000, random.chance(30) {
        add(.outage(duration - random.time(50..<400)), at: time + random.time(1..<60))
      }
    }
    if random.chance(40) { add(.compare, at: random.time(200..<5_000)) }
    if random.chance(40) {
      for _ in 0..<random.number(1..<6) {
        let time = random.time(200..<7_000)
        add(.remove, at: time)
        // Somebody who wants one of them once more at that moment.
        if random.chance(50) {
          let wish = Wish.retry(job: random.number(0..<count))
          add(.order(machine: random.number(0..<machines), wish), at: time + random.time(-20..<20))
        }
      }
    }
    isReplicated = random.chance(40)
    if random.chance(25) {
      for _ in 0..<random.number(1..<3) {
        add(.failover(losing: random.time(0..<Int(Self.longestLoss))), at: random.time(200..<6_000))
      }
    }
    rewrite(&random, jobCount: count)
    linger()
    steps.sort { $0.time < $1.time }
  }

  /// Adds transactions that last long. By the seed alone: with another random number the seeds that found faults would make
  /// other programs.
  private mutating func linger() {
    var random = RandomSource(seed: ~seed)
    if random.chance(30) { add(.foreignTransaction(random.time(1_000..<30_000)), at: random.time(0..<4_000)) }
    if !random.chance(30) { return }
    for _ in 0..<random.number(1..<3) {
      let hang = Disturbance.hangingCommit(random.time(500..<12_000))
      let machine = random.number(0..<machines)
      add(.disturb(machine: machine, random.number(2..<5), hang, count: 1), at: random.time(0..<4_000))
    }
  }

  /// Adds wishes that change jobs as a whole.
  private mutating func rewrite(_ random: inout RandomSource, jobCount: Int) {
    if random.chance(35) {
      for _ in 0..<random.number(1..<5) {
        let wish = Wish.replace(job: random.number(0..<jobCount), priority: random.number(-1..<2))
        add(.order(machine: random.number(0..<machines), wish), at: random.time(200..<7_000))
      }
    }
    // A job that a failover has lost, and that comes again, would wait for what was deleted meanwhile.
    let isStable = !steps.contains { if case .failover = $0.action { true } else { false } }
    if isStable, random.chance(25) {
      for _ in 0..<random.number(1..<4) {
        let wish = Wish.delete(job: random.number(0..<jobCount))
        add(.order(machine: random.number(0..<machines), wish), at: random.time(1_000..<7_000))
      }
    }
  }

  /// True if records of jobs go.
  var removesJobs: Bool {
    steps.contains { step in
      switch step.action {
      case .remove, .order(_, .delete): true
      default: false
      }
    }
  }

  /// The names of jobs that are replaced, and of those that are put back.
  var rewrittenJobs: Set<String> { jobs(of: { if case .replace(let job, _) = $0 { job } else { nil } }) }

  var retriedJobs: Set<String> { jobs(of: { if case .retry(let job) = $0 { job } else { nil } }) }

  private func jobs(of wish: (Wish) -> Int?) -> Set<String> {
    Set(steps.compactMap { if case .order(_, let one) = $0.action { wish(one).map { "job\($0)" } } else { nil } })
  }

  /// Makes a fleet in which nothing else happens.
  ///
  /// - Parameters:
  ///   - deaths: how many hosts die; if any do, the lead as well.
  ///   - outage: the milliseconds for which the database is away.
  package init(hosts: Int, jobs: Int, deaths: Int = 0, outage: Int64 = 0, seed: UInt64) {
    var random = RandomSource(seed: seed)
    self.seed = seed
    machines = hosts
    slots = 2
    for number in 0..<jobs {
      let job = Job(number: number, queue: random.number(0..<2), duration: random.time(5..<2_000))
      add(.submit(machine: random.number(0..<hosts), [job]), at: random.time(0..<3_000))
    }
    for _ in 0..<deaths {
      add(.kill(machine: random.number(0..<hosts), restart: random.time(50..<6_000)), at: random.time(500..<4_000))
    }
    if deaths > 0 { add(.killLead(restart: 5_000), at: random.time(1_000..<3_000)) }
    if outage > 0 { add(.outage(outage), at: 1_500) }
    steps.sort { $0.time < $1.time }
  }

  /// The milliseconds by which a standby may be behind.
  static let longestLoss: Int64 = 1_500

  private mutating func add(_ action: Action, at time: Int64) { steps.append(Step(time: time, action: action)) }

  private func fault(_ random: inout RandomSource, jobCount: Int) -> Action {
    let machine = random.number(0..<machines)
    switch random.number(0..<20) {
    case 0, 1: return .kill(machine: machine, restart: random.time(50..<8_000))
    case 2, 3: return .killLead(restart: random.time(50..<8_000))
    case 4, 5: return .stop(machine: machine, random.time(100..<9_000))
    case 6: return .cut(machine: machine, random.time(100..<9_000))
    case 7: return .outage(random.time(100..<12_000))
    case 8: return .deafness(random.time(500..<4_000))
    case 9 where random.chance(40):
      return .order(machine: machine, .drain(machine: random.number(0..<machines), random.chance(70)))
    case 9: return .order(machine: machine, .pause(queue: random.number(0..<2), random.chance(60)))
    case 10, 11:
      let job = random.number(0..<jobCount)
      switch random.number(0..<6) {
      case 0, 1: return .order(machine: machine, .cancel(job: job))
      case 2, 3: return .order(machine: machine, .hold(job: job, random.chance(60)))
      case 4: return .order(machine: machine, .retry(job: job))
      default: return .order(machine: machine, .priority(job: job, random.number(-3..<4)))
      }
    default:
      let disturbance: Disturbance =
        switch random.number(0..<6) {
        case 0, 1: .answerLost
        case 2: .late(random.time(1..<600))
        case 3: .unsent
        case 4: .pause(before: random.number(1..<5), random.time(10..<2_500))
        default: .slowAnswer(random.time(100..<3_500))
        }
      // Writing channels have more to lose.
      let channel = [0, 1, 2, 2, 3, 3, 3, 4, 4, 4][random.number(0..<10)]
      return .disturb(machine: machine, channel, disturbance, count: random.number(1..<4))
    }
  }
}

extension FleetProgram.Job {
  fileprivate init(number: Int, of machines: Int, _ random: inout RandomSource) {
    self.number = number
    queue = random.number(0..<2)
    priority = random.number(-1..<2)
    duration = random.time(5..<700)
    if random.chance(30) { limit = random.number(0..<2) }
    if random.chance(15) { ratePeriod = random.chance(60) ? 4 : 20 }
    if random.chance(10) { unique = random.number(0..<2) }
    if number > 0, random.chance(20) { after = [random.number(0..<number)] }
    mayFail = random.chance(50)
    if random.chance(15) { batch = 0 } else if random.chance(8) { afterBatch = 0 }
    if random.chance(10) { delay = random.time(50..<2_000) }
    if random.chance(15) { place = random.number(0..<machines) }
    if random.chance(15) { failures = random.chance(30) ? 10 : random.number(1..<3) }
  }
}
