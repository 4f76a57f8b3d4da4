import DaemonTesting
import Foundation
import JSONText
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension FleetSystemTests {
  @Suite("Metrics of a fleet", .enabled(if: PostgresCluster.isAvailable()))
  struct FleetMetrics {
    private let database: TestDatabase

    init() throws { database = try PostgresCluster.makeDatabase() }

    private func root(_ name: String) throws -> DaemonRoot {
      let root = try DaemonRoot(host: name, at: database.url)
      // Schedules have metrics as soon as there is one.
      try root.write(#"{"type": "noop"}"#, to: root.paths.schedules + "/yearly.json")
      try root.write(
        "[Schedule]\nOnCalendar=yearly\nJob=yearly.json\n", to: root.paths.schedules + "/yearly.conf")
      return root
    }

    /// The samples without labels, and the names of all.
    private func scrape(_ daemon: DaemonProcess) async throws -> (values: [String: Double], names: Set<String>) {
      let tool = try await Tool.run(
        "/usr/bin/curl", ["-sS", "--fail", "--unix-socket", daemon.root.paths.socket, "http://localhost/metrics"])
      #expect(tool.code == 0, "\(tool.errors)")
      var values: [String: Double] = [:]
      var names: Set<String> = []
      for line in tool.output.split(separator: "\n") {
        let words = line.split(separator: " ")
        if line.hasPrefix("# TYPE ") { names.insert(String(words[2])) }
        if !line.hasPrefix("#"), words.count == 2 { values[String(words[0])] = Double(words[1]) }
      }
      return (values, names)
    }

    /// Scrapes until the figures are as wanted; each look waits for the daemon.
    private func scrape(
      _ daemon: DaemonProcess, until isWanted: ([String: Double]) -> Bool
    ) async throws -> [String: Double] {
      let deadline = ContinuousClock.now + .seconds(60)
      while true {
        let values = try await scrape(daemon).values
        if isWanted(values) { return values }
        try #require(ContinuousClock.now < deadline, "\(values)\n\(daemon.logText)")
      }
    }

    @Test("Its members and takeovers are told by the hosts of a real one, and every name by the documentation")
    func takeover() async throws {
      let (first, second) = (try root("a"), try root("b"))
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      let leading = try await scrape(one) { $0["bobbin_fleet_lead"] == 1 && $0["bobbin_fleet_members"] == 2 }
      let before = try await scrape(other) { $0["bobbin_fleet_lead"] == 0 }
      // Only the lead knows them, and both know how many leads there were.
      #expect(before["bobbin_fleet_members"] == nil && before["bobbin_fleet_away"] == 0)
      let leads = try #require(leading["bobbin_fleet_leads_total"])
      #expect(leads >= 1)
      try await one.kill()
      let after = try await scrape(other) { $0["bobbin_fleet_lead"] == 1 && $0["bobbin_fleet_members"] == 1 }
      #expect(after["bobbin_fleet_leads_total"] == leads + 1)

      // What is told and what is documented are the same, together with a daemon that has a store of its own.
      var told = try await scrape(other).names
      let alone = try DaemonRoot()
      let single = try await DaemonProcess.ready(alone)
      // Jobs have metrics while there are any.
      let waiting = #"{"type": "noop", "notBefore": "2099-01-01T00:00:00Z"}"#
      #expect(try await single.request("POST", "/v1/jobs", body: waiting).status < 300)
      told.formUnion(try await scrape(single).names)
      let page = RepositoryPaths.root.appending(path: "Documentation/Metrics.md")
      let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
      let documented = Set(
        rows.flatMap { row in
          (row.split(separator: "|").first ?? "").matches(of: /`([a-z_]+)`/).map { String($0.1) }
        })
      #expect(told.subtracting(documented) == [], "not in Metrics.md")
      #expect(documented.subtracting(told) == [], "in Metrics.md only")
      for daemon in [other, single] { #expect(try await daemon.stop() == .exited(code: 0)) }
    }
  }
}
