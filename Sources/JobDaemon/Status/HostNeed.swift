import Fleet
import TextSupport

/// The reason why no host of a fleet takes a job at the moment, in a sentence for people.
struct HostNeed {
  let type: String
  let place: String?
  let hosts: [FleetOverview.Host]

  var reason: String {
    if let home { return reason(of: home) }
    let able = hosts.filter { $0.takes(type: type, place: place) }
    let places = place.map { ", and \(qualities(of: $0).plural)," } ?? ""
    if !able.isEmpty { return "all hosts that have its type\(places) are busy" }
    guard let place else {
      return reason(of: hosts.filter { $0.types.contains(type) }, that: "has its type \"\(type)\"")
    }
    let offering = hosts.filter { $0.places.contains(place) }
    if offering.contains(where: { $0.isAlive && !$0.isDrained && !$0.types.contains(type) }) {
      return "no host that \(qualities(of: place).singular) has its type \"\(type)\""
    }
    let advice = offering.isEmpty ? "; \(qualities(of: place).advice)" : ""
    return reason(of: offering, that: qualities(of: place).singular) + advice
  }

  /// The words for hosts that give a place.
  private func qualities(of name: String) -> (singular: String, plural: String, advice: String) {
    let (place, advice) = (FleetPlace(name), "[Fleet] Places= names those of a host")
    guard let domain = place?.userDomain else {
      return ("offers the place \"\(name)\"", "offer the place \"\(name)\"", advice)
    }
    let users = "the users of \(domain), to whom its files belong"
    guard let offered = place?.offered else {
      return ("has \(users)", "have \(users)", "[Fleet] UserDomain= names those of a host")
    }
    return ("offers the place \"\(offered)\" to \(users)", "offer the place \"\(offered)\" to \(users)", advice)
  }

  /// The host whose spool alone has the input.
  private var home: FleetOverview.Host? {
    let root = FleetPlace(place)?.spool ?? place
    return hosts.first { $0.root == root }
  }

  private func reason(of home: FleetOverview.Host) -> String {
    let start = "its input lies on the host \(home.root), which "
    if !home.isAlive { return start + away(home) }
    if home.isDrained { return start + drained(home) }
    if !home.types.contains(type) { return start + "does not have its type \"\(type)\"" }
    if let place, !home.places.contains(place), let offered = FleetPlace(place)?.offered {
      return start + "does not offer the place \"\(offered)\""
    }
    return start + "has no free worker"
  }

  /// - Parameter able: hosts that could run it, none of which takes it.
  private func reason(of able: [FleetOverview.Host], that quality: String) -> String {
    if let drained = able.first(where: \.isAlive) {
      return "the host \(drained.root) \(quality), and \(self.drained(drained))"
    }
    if let away = able.min(by: { $0.silence < $1.silence }) {
      return "the host \(away.root) \(quality), and \(self.away(away))"
    }
    return "no host \(quality)"
  }

  private func away(_ host: FleetOverview.Host) -> String {
    "is away for \(TimeSpan.words(seconds: Double(host.silence) / 1000))"
  }

  private func drained(_ host: FleetOverview.Host) -> String {
    "is drained; `bobbinctl fleet undrain \(host.root)` ends that"
  }
}
