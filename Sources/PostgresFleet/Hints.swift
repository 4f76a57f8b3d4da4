package import Fleet
import PostgresStore

/// Hints to hosts that are sent together, as notifications apart from any transaction that writes: each tells that there may
/// be something to read, and may be lost.
package struct Hints: Sendable {
  /// A host, by its number, and what it is hinted to.
  package struct HostHint: Sendable, Hashable {
    let host: Int
    let hint: MemberHint
  }

  private(set) var hosts: Set<HostHint> = []
  /// The spools whose hosts are hinted to outcomes.
  private(set) var spools: Set<String> = []

  package init() {}

  package mutating func add(_ hint: MemberHint, to hosts: some Sequence<Int>) {
    self.hosts.formUnion(hosts.lazy.map { HostHint(host: $0, hint: hint) })
  }

  mutating func add(spools: Set<String>) { self.spools.formUnion(spools) }

  // MARK: Notifications

  /// The channel on which a host hears its hints.
  static func channel(of host: Int, fleet: String) -> String { "\(fleet)/\(host)" }

  /// The statements that send them; none if there are none.
  func sending(to fleet: String) -> [Request] {
    var requests: [Request] = []
    if !hosts.isEmpty {
      let channels = hosts.map { Self.channel(of: $0.host, fleet: fleet) }
      requests.append(
        Request(
          "SELECT pg_notify(channel, text) FROM unnest($1, $2) AS h (channel, text)",
          [.texts(channels), .texts(hosts.map(\.hint.rawValue))]))
    }
    if !spools.isEmpty {
      requests.append(
        Request(
          "SELECT pg_notify($2 || '/' || number, $3) FROM _host WHERE root = ANY($1) AND state = 'alive'",
          [.texts(spools.sorted()), .text(fleet), .text(MemberHint.outcomes.rawValue)]))
    }
    return requests
  }

  /// The statement that hints to the lead that there are news.
  static func sendingToLead(of fleet: String) -> Request {
    Request(
      "SELECT pg_notify($1 || '/' || host, $2) FROM _lead WHERE host IS NOT NULL",
      [.text(fleet), .text(MemberHint.news.rawValue)])
  }
}
