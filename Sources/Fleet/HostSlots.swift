import JobSchedule

/// The hosts of a fleet, and which of them have room for what jobs need.
///
/// A host has a slot for each of its workers. Jobs that nothing limits may wait on it besides, as many as it has lately
/// ended within ``Pace/span``: it goes on with them at once, instead of waiting for the lead after each. The schedule is
/// told whenever there is room for a need, or none any more.
struct HostSlots: Sendable {
  /// The needs of a job as to its host; the schedule knows them by one name.
  struct Need: Sendable {
    let type: String
    let place: String?
    /// True if it is only given to a free slot, since others wait for it to end, or count when it starts.
    let isLimited: Bool
    let name: String

    /// - Parameter limited: the queues and types that have limits.
    init(_ job: FleetJob, limited: Set<Resource.Name>) {
      let specification = job.specification
      type = specification.type
      place = job.place
      // Where few hosts can run it, it does not wait behind jobs that others could run.
      isLimited =
        place != nil || specification.limit != nil || limited.contains(.type(type))
        || limited.contains(.queue(specification.queue))
      name = place.map { [type] in "\(type) at \($0)" } ?? (isLimited ? "\(type), limited" : type)
    }

    func isMet(by host: FleetHost) -> Bool {
      host.types.contains(type) && (place.map(host.places.contains) ?? true)
    }
  }

  private struct Host: Sendable {
    var host: FleetHost
    /// The needs that it meets, by their numbers.
    var needs: [Int] = []
    /// False while it is not, or not any more, among those that take jobs.
    var isMember = false
    /// True if it is given nothing any more.
    var isDrained = false
    /// The runs, each with the need of its job.
    var runs: [Run: Int] = [:]
    /// The number of them for each need.
    var counts: [Int: Int] = [:]
    /// The ends of runs, and those for each need.
    var ends = Pace()
    var endsOf: [Int: Pace] = [:]
    /// The number of jobs that may wait here in this round, and of those for each need.
    var most = 0
    var mostOf: [Int: Int] = [:]

    private var takesJobs: Bool { isMember && !isDrained }
    var free: Int { takesJobs ? max(0, -overload) : 0 }
    /// The number of jobs that wait for a worker.
    var overload: Int { runs.count - host.slots }

    /// Gives needs other numbers, and drops those that have none.
    mutating func renumber(_ numbers: [Int: Int]) {
      func renumbered<Value>(_ values: [Int: Value]) -> [Int: Value] {
        Dictionary(uniqueKeysWithValues: values.compactMap { key, value in numbers[key].map { ($0, value) } })
      }
      needs = needs.compactMap { numbers[$0] }
      runs = runs.compactMapValues { numbers[$0] }
      (counts, endsOf, mostOf) = (renumbered(counts), renumbered(endsOf), renumbered(mostOf))
    }

    /// The number of jobs that may still be given to it.
    func room(for need: Int, isLimited: Bool) -> Int {
      if isLimited || !takesJobs || most == 0 { return free }
      // Jobs of a type that has lately ended none may wait as well, behind others, but no more than there are workers.
      let own = host.slots + (mostOf[need] ?? 0) - (counts[need] ?? 0)
      return max(0, min(host.slots + most - runs.count, own))
    }
  }

  /// The queues and types that have limits.
  let limited: Set<Resource.Name>
  private var hosts: [Int: Host] = [:]
  /// The numbers of those that are gone, which are never used again: what they told of themselves before may come later.
  private var gone: Set<Int> = []
  /// The roots of hosts that are drained, also of those that are not there.
  private var drained: Set<String> = []
  /// The hosts in the order in which they are offered jobs.
  private var order: [Int] = []
  private var cursor = 0
  /// Each with the room that hosts have for it, together, whether the schedule takes it for room, and its unfinished jobs.
  private var needs: [(need: Need, room: Int, isOpen: Bool, jobs: Int)] = []
  private var numbers: [String: Int] = [:]
  /// The number of needs without jobs; they are dropped when there are many: most come back soon.
  private var idleCount = 0
  private static let idleLimit = 100
  /// The free slots of all hosts.
  private var freeSlots = 0
  /// The hosts on which no job waits for a worker, since limited jobs need free slots, and until when on the steady clock.
  private var kept: [Int: Int64] = [:]
  private static let keepingTime: Int64 = 1_000

  /// - Parameter limited: the queues and types that have limits.
  init(limited: Set<Resource.Name>) { self.limited = limited }

  func contains(_ number: Int) -> Bool { hosts[number] != nil }

  func runs(of number: Int) -> [Run] { hosts[number].map { Array($0.runs.keys) } ?? [] }

  /// Adds a host, or changes one that offers other types by now.
  mutating func join(_ number: Int, _ host: FleetHost, telling schedule: inout Schedule, at now: Moment) {
    if gone.contains(number) { return }
    let former = hosts[number]?.needs ?? []
    if hosts[number] == nil {
      order.append(number)
      hosts[number] = Host(host: host)
    }
    let met = needs.indices.filter { needs[$0].need.isMet(by: host) }
    let isDrained = drained.contains(host.root)
    change(number, telling: &schedule, at: now) { new in
      new.host = host
      new.needs = met
      new.isMember = true
      new.isDrained = isDrained
    }
    for need in former where !met.contains(need) { tell(&schedule, of: need, at: now) }
  }

  /// Gives the host of a root nothing any more, or again.
  mutating func setDrained(_ isDrained: Bool, _ root: String, telling schedule: inout Schedule, at now: Moment) {
    if isDrained { drained.insert(root) } else { drained.remove(root) }
    guard let number = hosts.first(where: { $0.value.host.root == root })?.key else { return }
    change(number, telling: &schedule, at: now) { $0.isDrained = isDrained }
  }

  mutating func leave(_ number: Int, telling schedule: inout Schedule, at now: Moment) {
    // A host that is no member has no room.
    change(number, telling: &schedule, at: now) { $0.isMember = false }
    order.removeAll { $0 == number }
    hosts[number] = nil
    gone.insert(number)
  }

  /// Notes a run of a host.
  mutating func begin(_ run: Run, telling schedule: inout Schedule, at now: Moment) {
    guard let need = schedule.job(run.job).flatMap(schedule.place).flatMap({ numbers[$0] }) else { return }
    change(run.host, telling: &schedule, at: now) { host in
      host.runs[run] = need
      host.counts[need, default: 0] += 1
    }
  }

  /// Notes the end of a run.
  ///
  /// - Parameter hasWorked: false if it was cut short, so that it tells nothing about how much the host does.
  mutating func end(_ run: Run, hasWorked: Bool, telling schedule: inout Schedule, at now: Moment) {
    change(run.host, telling: &schedule, at: now) { host in
      guard let need = host.runs.removeValue(forKey: run) else { return }
      host.counts[need, default: 0] -= 1
      if !hasWorked { return }
      host.ends.note(at: now.steady)
      host.endsOf[need, default: Pace()].note(at: now.steady)
    }
  }

  /// Changes a host where it lies: its runs may be many.
  private mutating func change(
    _ number: Int, telling schedule: inout Schedule, at now: Moment, _ body: (inout Host) -> Void
  ) {
    guard let index = hosts.index(forKey: number) else { return }
    count(hosts.values[index], -1)
    body(&hosts.values[index])
    count(hosts.values[index], 1)
    for need in hosts.values[index].needs { tell(&schedule, of: need, at: now) }
  }

  private mutating func count(_ host: Host, _ step: Int) {
    freeSlots += step * host.free
    for need in host.needs { needs[need].room += step * host.room(for: need, isLimited: needs[need].need.isLimited) }
  }

  /// Tells the schedule if there is room now where there was none, or none any more.
  private mutating func tell(_ schedule: inout Schedule, of need: Int, at now: Moment) {
    let hasRoom = needs[need].room > 0
    if hasRoom == needs[need].isOpen { return }
    needs[need].isOpen = hasRoom
    schedule.setRoom(hasRoom, at: needs[need].need.name, now: now)
  }

  /// Notes the need of a job that enters the schedule; returns the name by which the schedule knows it.
  mutating func addNeed(of job: FleetJob, telling schedule: inout Schedule, at now: Moment) -> String {
    let need = Need(job, limited: limited)
    add(need, telling: &schedule, at: now)
    return need.name
  }

  private mutating func add(_ need: Need, telling schedule: inout Schedule, at now: Moment) {
    if let number = numbers[need.name] {
      if needs[number].jobs == 0 { idleCount -= 1 }
      needs[number].jobs += 1
      return
    }
    let number = needs.count
    numbers[need.name] = number
    needs.append((need, room: 0, isOpen: true, jobs: 1))
    for host in order where hosts[host].map({ need.isMet(by: $0.host) }) == true {
      hosts[host]?.needs.append(number)
      needs[number].room += hosts[host]?.room(for: number, isLimited: need.isLimited) ?? 0
    }
    tell(&schedule, of: number, at: now)
  }

  /// Notes that a job of a need leaves the schedule.
  mutating func remove(_ name: String?, telling schedule: inout Schedule, at now: Moment) {
    guard let number = name.flatMap({ numbers[$0] }) else { return }
    needs[number].jobs -= 1
    if needs[number].jobs > 0 { return }
    idleCount += 1
    if idleCount > max(Self.idleLimit, needs.count / 2) { dropIdleNeeds(telling: &schedule, at: now) }
  }

  /// Drops the needs that no job has, since there may be one for each place there ever was.
  private mutating func dropIdleNeeds(telling schedule: inout Schedule, at now: Moment) {
    var places: [Int: Int] = [:]
    var left: [(need: Need, room: Int, isOpen: Bool, jobs: Int)] = []
    for (number, need) in needs.enumerated() {
      if need.jobs > 0 {
        places[number] = left.count
        left.append(need)
      } else {
        numbers[need.need.name] = nil
        // It is forgotten there as well.
        if !need.isOpen { schedule.setRoom(true, at: need.need.name, now: now) }
      }
    }
    for (number, place) in places { numbers[needs[number].need.name] = place }
    needs = left
    idleCount = 0
    for number in order { hosts[number]?.renumber(places) }
  }

  // MARK: Rounds

  /// Looks at how many jobs may wait on each host.
  ///
  /// Where limited jobs wait for a free slot, one host is kept for a while on which no job waits.
  mutating func beginRound(telling schedule: inout Schedule, at now: Moment) {
    for (need, room, _, _) in needs where need.isLimited && room == 0 && schedule.isAwaited(need.name) {
      let known = order.first { kept[$0] != nil && hosts[$0].map { !$0.isDrained && need.isMet(by: $0.host) } == true }
      if let host = known ?? emptiest(need) { kept[host] = now.steady + Self.keepingTime }
    }
    kept = kept.filter { $0.value > now.steady && hosts[$0.key] != nil }
    for number in order {
      let most = kept[number] == nil ? hosts[number]?.ends.count(at: now.steady) ?? 0 : 0
      if most == 0 && hosts[number]?.most == 0 { continue }
      change(number, telling: &schedule, at: now) { host in
        host.most = most
        host.mostOf = host.endsOf.mapValues { $0.count(at: now.steady) }
      }
    }
  }

  private func emptiest(_ need: Need) -> Int? {
    hosts.lazy.filter { !$0.value.isDrained && need.isMet(by: $0.value.host) }
      .min { ($0.value.overload, $0.key) < ($1.value.overload, $1.key) }?.key
  }

  /// The next host that meets a need, in turn: one with a free slot, or else one on which the job may wait.
  ///
  /// - Parameter mustHaveRoom: false if it need not have room.
  mutating func next(meeting name: String?, mustHaveRoom: Bool = true) -> Int? {
    guard let number = name.flatMap({ numbers[$0] }) else { return nil }
    let need = needs[number].need
    if freeSlots > 0, let host = next(where: { $0.free > 0 && need.isMet(by: $0.host) }) { return host }
    return next {
      (mustHaveRoom ? $0.room(for: number, isLimited: need.isLimited) > 0 : !$0.isDrained) && need.isMet(by: $0.host)
    }
  }

  private mutating func next(where isRight: (Host) -> Bool) -> Int? {
    for step in 1...max(1, order.count) where !order.isEmpty {
      let index = (cursor + step) % order.count
      if let host = hosts[order[index]], isRight(host) {
        cursor = index
        return order[index]
      }
    }
    return nil
  }
}

/// The number of events in the last moments.
struct Pace: Sendable {
  /// The milliseconds for which it counts.
  static let span: Int64 = 200
  /// The most that is told.
  private static let limit = 1_000

  /// The span of the last event, counted from the clock's beginning.
  private var last = Int64.min / 2
  private var count = 0
  /// The events of the span before.
  private var countBefore = 0

  mutating func note(at time: Int64) {
    let span = time / Self.span
    if span != last {
      countBefore = span == last + 1 ? count : 0
      count = 0
      last = span
    }
    count += 1
  }

  /// The events in a span of time: the present one or that before, whichever has more.
  func count(at time: Int64) -> Int {
    let span = time / Self.span
    let found = span == last ? max(count, countBefore) : span == last + 1 ? count : 0
    return min(found, Self.limit)
  }
}
