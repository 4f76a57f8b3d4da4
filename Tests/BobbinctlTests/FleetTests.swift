import Testing

@Suite("bobbinctl fleet")
struct FleetTests {
  @Test("Hosts are listed with what is the matter with them, and what no host gives is told")
  func list() async throws {
    let daemon = try TestDaemon(
      #"""
      {"host": 2, "term": 3, "format": 3, "durability": "local", "jobs": {"available": 12, "running": 2, "held": 0}, "hosts": [
        {"number": 1, "spool": "ash:/s", "slots": 3, "running": 0, "silenceSeconds": 180, "isLead": false,
         "isAlive": false, "isDrained": true, "boundJobs": 4, "places": [],
         "release": "1.0", "oldestFormat": 3, "newestFormat": 3},
        {"number": 2, "spool": "elm:/s", "slots": 3, "running": 2, "silenceSeconds": 0.25, "isLead": true,
         "isAlive": true, "isDrained": false, "boundJobs": 1, "places": ["gpu"],
         "release": "1.1", "oldestFormat": 3, "newestFormat": 4}],
       "unmet": [{"type": "ocr", "place": null, "jobs": 1, "reason": "no host has its type\n"},
                 {"type": "x", "place": "tape", "jobs": 2, "reason": "no host offers it"}]}
      """#)
    let run = try await daemon.run("fleet")
    #expect(run.code == 0)
    #expect(
      run.errors.contains(#"no living host has an older release any more; "bobbinctl fleet finish-upgrade""#),
      "\(run.errors)")
    #expect(
      run.lines.map { $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ") } == [
        "HOST SPOOL RUNNING SLOTS LAST BEAT PLACES RELEASE NOTE",
        "1 ash:/s 0 3 3 min ago 1.0 away, drained, older release, 4 jobs bound to it",
        "2 elm:/s 2 3 250 ms ago gpu 1.1 lead, this host",
        "unfinished jobs: 12 available, 2 running", "durability: local",
        #"1 job waits for a host: no host has its type\n"#,
        "2 jobs wait for a host: no host offers it",
      ])
  }

  @Test(
    "An action names the host, and what becomes of its jobs",
    arguments: [
      (["drain", "ash"], "drain", #"{"host":"ash"}"#, "the host ash:/s is given no more jobs"),
      (["undrain", "7"], "undrain", #"{"host":"7"}"#, "the host ash:/s is given jobs again"),
      (["remove", "ash"], "remove", #"{"host":"ash"}"#, "the host ash:/s is removed; 2 jobs that only it could run"),
      (["remove", "--move", "ash"], "remove", #"{"host":"ash","jobs":"move"}"#, "could run any host may run now"),
      (["remove", "--cancel", "ash"], "remove", #"{"host":"ash","jobs":"cancel"}"#, "could run are cancelled"),
    ])
  func actions(arguments: [String], route: String, body: String, told: String) async throws {
    let daemon = try TestDaemon(#"{"spool": "ash:/s", "isDrained": null, "jobs": 2}"#)
    let run = try await TestDaemon.run(["--root", daemon.root.path, "fleet"] + arguments)
    #expect(run.code == 0 && run.output == "")
    #expect(daemon.requests == ["POST /v1/fleet/\(route)"] && daemon.bodies == [body])
    #expect(run.errors.contains(told), "\(run.errors)")
  }
  @Test(
    "The end of an upgrade tells what changes, and whom it keeps out",
    arguments: [
      (
        false,
        #""newFormat": 4, "isDryRun": false, "holdingBack": [], "shutOut": [{"spool": "ash:/s", "release": "1.0"}]"#,
        [
          "the ledger of the fleet has format 4, not 3 any more; releases that know only that are refused from now on",
          "ash:/s, which is away, needs a newer release than 1.0 to come back",
        ]
      ),
      (
        true,
        #""newFormat": 4, "isDryRun": true, "holdingBack": [{"spool": "elm:/s", "release": "1.1"}], "shutOut": []"#,
        [
          "the ledger of the fleet would have format 4, not 3 any more, and releases that know only that would be refused",
          "elm:/s (1.1) knows no newer format",
        ]
      ),
      (
        true, #""newFormat": 3, "isDryRun": true, "holdingBack": [], "shutOut": []"#,
        ["there is nothing to finish: the ledger of the fleet has format 3, the newest that its hosts know"]
      ),
    ])
  func finishUpgrade(isTrial: Bool, reply: String, told: [String]) async throws {
    let daemon = try TestDaemon("{\"format\": 3, \(reply)}")
    let arguments = ["fleet", "finish-upgrade"] + (isTrial ? ["--dry-run"] : [])
    let run = try await TestDaemon.run(["--root", daemon.root.path] + arguments)
    #expect(run.code == 0 && run.output == "")
    #expect(daemon.requests == ["POST /v1/fleet/finish-upgrade"] && daemon.bodies == [#"{"dryRun":\#(isTrial)}"#])
    for line in told { #expect(run.errors.contains(line), "\(run.errors)") }
  }
}
