/// The hosts of a fleet, and which of them have free slots for what jobs need.
struct HostSlots: Sendable {
  /// The demands of a job on its host; the schedule knows them by one name.
  struct Need: Sendable {
    let type: String
    let place: String?

    var name: String { place.map { "\(type) at \($0)" } ?? type }

    func isMet(by host: FleetHost) -> Bool {
      host.types.contains(type) && (place.map(host.places.contains) ?? true)
    }
  }

  /// A need for which there is a free slot from now on, or none any more.
  typealias Turn = (need: String, hasRoom: Bool)

  private struct Host: Sendable {
    let host: FleetHost
    var used = 0

    var free: Int { max(0, host.slots - used) }
  }

  private var hosts: [Int: Host] = [:]
  /// The hosts in the order in which they are offered jobs.
  private var order: [Int] = []
  private var cursor = 0
  private var needs: [String: Need] = [:]
  /// The free slots of hosts that meet each need.
  private var freeSlots: [String: Int] = [:]

  func contains(_ number: Int) -> Bool { hosts[number] != nil }

  mutating func join(_ number: Int, _ host: FleetHost) -> [Turn] {
    if hosts[number] != nil { return [] }
    hosts[number] = Host(host: host)
    order.append(number)
    return change(host, by: host.slots)
  }

  mutating func leave(_ number: Int) -> [Turn] {
    guard let host = hosts.removeValue(forKey: number) else { return [] }
    order.removeAll { $0 == number }
    return change(host.host, by: -host.free)
  }

  /// Uses or frees slots of a host.
  mutating func use(_ number: Int, _ step: Int) -> [Turn] {
    guard let host = hosts[number] else { return [] }
    hosts[number]?.used += step
    return change(host.host, by: (hosts[number]?.free ?? 0) - host.free)
  }

  private mutating func change(_ host: FleetHost, by step: Int) -> [Turn] {
    if step == 0 { return [] }
    return needs.values.filter { $0.isMet(by: host) }.compactMap { need in
      let before = freeSlots[need.name] ?? 0
      freeSlots[need.name] = before + step
      return (before > 0) != (before + step > 0) ? (need.name, before + step > 0) : nil
    }
  }

  /// Makes a need known; returns nothing if it was before.
  mutating func add(_ need: Need) -> Turn? {
    if needs[need.name] != nil { return nil }
    needs[need.name] = need
    let free = hosts.values.reduce(0) { $0 + (need.isMet(by: $1.host) ? $1.free : 0) }
    freeSlots[need.name] = free
    return (need.name, free > 0)
  }

  /// The next host that meets a need, in turn.
  ///
  /// - Parameter mustBeFree: false if it need not have a free slot.
  mutating func next(meeting name: String?, mustBeFree: Bool = true) -> Int? {
    guard let need = name.flatMap({ needs[$0] }) else { return nil }
    for step in 1...max(1, order.count) where !order.isEmpty {
      let index = (cursor + step) % order.count
      if let host = hosts[order[index]], host.free > 0 || !mustBeFree, need.isMet(by: host.host) {
        cursor = index
        return order[index]
      }
    }
    return nil
  }
}
