import Fleet
import Testing

@testable import JobDaemon

/// Why a job of a fleet waits for a host.
@Suite("The reason why no host takes a job")
struct HostNeedTests {
  private static let hosts = [
    host("ash:/spool", types: ["a", "b"], offered: ["gpu"]),
    host("elm:/spool", types: ["a", "c"], offered: ["tape"], isAlive: false),
    host("oak:/spool", types: ["d"], offered: ["disk"], isDrained: true),
  ]

  private static func host(
    _ root: String, types: Set<String>, offered: [String], isAlive: Bool = true, isDrained: Bool = false
  ) -> FleetOverview.Host {
    FleetOverview.Host(
      number: 1, root: root, slots: 2, types: types, places: FleetPlace.names(offered: offered, spool: root),
      isAlive: isAlive, isDrained: isDrained, silence: 180_000)
  }

  @Test(
    "tells where it has to run, and what is the matter there",
    arguments: [
      ("a", "elm:/spool", #"its input lies on the host elm:/spool, which is away for 3 min"#),
      ("a", "ash:/spool", #"its input lies on the host ash:/spool, which has no free worker"#),
      ("c", "ash:/spool", #"its input lies on the host ash:/spool, which does not have its type "c""#),
      ("a", "tape at ash:/spool", #"its input lies on the host ash:/spool, which does not offer the place "tape""#),
      (
        "d", "oak:/spool",
        "its input lies on the host oak:/spool, which is drained; `bobbinctl fleet undrain oak:/spool` ends that"
      ),
      ("a", nil, "all hosts that have its type are busy"),
      ("b", "gpu", #"all hosts that have its type, and offer the place "gpu", are busy"#),
      ("c", nil, #"the host elm:/spool has its type "c", and is away for 3 min"#),
      (
        "d", nil,
        #"the host oak:/spool has its type "d", and is drained; `bobbinctl fleet undrain oak:/spool` ends that"#
      ),
      ("e", nil, #"no host has its type "e""#),
      ("c", "gpu", #"no host that offers the place "gpu" has its type "c""#),
      ("a", "tape", #"the host elm:/spool offers the place "tape", and is away for 3 min"#),
      (
        "a", "users of x.org",
        "no host has the users of x.org, to whom its files belong; [Fleet] UserDomain= names those of a host"
      ),
      ("a", "attic", #"no host offers the place "attic"; [Fleet] Places= names those of a host"#),
    ] as [(String, String?, String)])
  func reasons(type: String, place: String?, reason: String) {
    #expect(HostNeed(type: type, place: place, hosts: Self.hosts).reason == reason)
  }

  @Test("A host is called by its number, its spool, or its name if no other host has that")
  func names() throws {
    let hosts = Self.hosts + [Self.host("ash:/other", types: [], offered: [])]
    #expect(try hosts.root(named: "ash:/other") == "ash:/other")
    #expect(try hosts.root(named: "elm") == "elm:/spool")
    #expect(try Self.hosts.root(named: "1") == "ash:/spool")
    #expect(throws: HostRefusal.ambiguous("ash", ["ash:/spool", "ash:/other"])) { try hosts.root(named: "ash") }
    #expect(throws: HostRefusal.unknown("el", known: hosts.map(\.root))) { try hosts.root(named: "el") }
  }
}
