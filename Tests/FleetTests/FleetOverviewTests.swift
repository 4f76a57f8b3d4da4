import Jobs
import Testing

@testable import Fleet

/// What people are told of a fleet, made of hosts and of what jobs ask for.
@Suite("The overview of a fleet")
struct FleetOverviewTests {
  @Test(
    "has one text for each place, which is read back the same, and which the hosts that give it have",
    arguments: [
      (nil, nil, nil), ("gpu", nil, "gpu"), (nil, .spool("a:/s"), "a:/s"), ("gpu", .spool("a:/s"), "gpu at a:/s"),
      ("a:/s", .spool("a:/s"), "a:/s"), (nil, .users(of: "x.org"), "users of x.org"),
      ("gpu", .users(of: "x.org"), "gpu at users of x.org"),
    ] as [(String?, FleetPlace.Site?, String?)])
  func places(offered: String?, site: FleetPlace.Site?, name: String?) {
    let place = FleetPlace(offered: offered, site: site)
    #expect(place.name == name)
    #expect(FleetPlace(name)?.name == name && FleetPlace(name)?.userDomain == place.userDomain)
    let names = FleetPlace.names(offered: ["gpu", "big"], spool: "a:/s", userDomain: "x.org")
    #expect(name.map(names.contains) ?? true)
    let others = FleetPlace.names(offered: ["big"], spool: "a:/s")
    #expect(!others.contains("gpu at a:/s") && !others.contains("users of x.org"))
  }

  private static func host(
    _ root: String, types: Set<String>, offered: [String] = [], isAlive: Bool = true, isDrained: Bool = false
  ) -> FleetOverview.Host {
    FleetOverview.Host(
      number: 1, root: root, slots: 2, types: types, places: FleetPlace.names(offered: offered, spool: root),
      isAlive: isAlive, isDrained: isDrained)
  }

  @Test("counts jobs by state, those that only one host can run, and those that none can")
  func counts() {
    func need(_ state: JobState, _ type: String, _ place: String?, _ count: Int) -> FleetOverview.NeedCount {
      FleetOverview.NeedCount(state: state, type: type, place: place, count: count)
    }
    let overview = FleetOverview(
      term: 1, lead: 1,
      hosts: [
        Self.host("a:/s", types: ["x"], offered: ["gpu"]), Self.host("b:/s", types: ["y"], isAlive: false),
        Self.host("c:/s", types: ["z"], isDrained: true),
      ],
      needs: [
        need(.available, "x", nil, 1), need(.running, "y", nil, 2), need(.held, "y", nil, 4),
        need(.retryable, "y", "b:/s", 8), need(.available, "y", "b:/s", 16),
        need(.available, "x", "gpu at b:/s", 32),
        need(.available, "x", "gpu at a:/s", 64), need(.available, "x", "big", 128),
        need(.scheduled, "z", nil, 256),
      ])
    #expect(overview.jobs == [.available: 241, .running: 2, .held: 4, .retryable: 8, .scheduled: 256])
    #expect(["a:/s", "b:/s", "c:/s"].map(overview.boundCount) == [64, 56, 0])
    #expect(
      overview.unmet.map { "\($0.count) \($0.type) \($0.place ?? "-")" } == [
        "256 z -", "128 x big", "32 x gpu at b:/s", "24 y b:/s",
      ])
  }
}
