import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// What operators look for first: the troubles of the daemon, and why a job has failed.
extension PageTests {
  /// An expression of the sentences about troubles with which a view begins.
  private static let problems = "[...document.querySelectorAll('main > .problem')].map(one => one.textContent)"

  @Test("The overview begins with what keeps jobs from running, and is rid of it once that is mended")
  func troubles() async throws {
    let (program, scans) = (root.directory.path("late"), root.directory.path("scans"))
    try root.write("[Handler]\nType=late\nExecStart=\(program)\n", to: root.paths.handlers + "/late.conf")
    let template = root.paths.configuration + "/any.json"
    try root.write(#"{"type": "noop"}"#, to: template)
    try root.write(
      "[Folder]\nPath=\(scans)\nJob=\(template)\n", to: root.paths.configuration + "/folders.d/scans.conf")
    let visit = try await browse("overview")
    let (daemon, browser) = (visit.daemon, visit.browser)
    try await browser.wait(forText: "0 of")
    try root.configure("[Writer]\nFlushIntervalSec=never\n")
    try await daemon.reload()
    let mistake = try #require(try await daemon.get("/v1/status")["refusedConfiguration"]?.array?.first?.string)
    _ = try await daemon.request("POST", "/v1/pause", body: #"{"queue": "blue"}"#)
    _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "late", "id": "patience"}"#)
    let reason = "the program \(program) can't be started: execve \"\(program)\": No such file or directory (ENOENT)"
    let sentences = [
      "Jobs of the type late are held: \(reason)",
      "The new configuration was refused, an earlier one is in force: \(mistake)",
      "The hot folder scans has a problem; the schedules' view tells which.", "Paused: the queue blue.",
    ]
    try await browser.wait(
      for: "\(Self.problems).join('|') === \(Browser.literal(sentences.joined(separator: "|")))")
    let state = "document.getElementById('state').textContent"
    #expect(try await browser.run("return \(state)").string == "running")
    _ = try await daemon.request("POST", "/v1/pause", body: "{}")
    try await browser.wait(
      for: "\(Self.problems).includes('Paused: everything, the queue blue.') && \(state) === 'paused'")

    // While everything is paused, nobody starts a program that is not whole yet.
    try root.write("#!/bin/sh\n", to: program)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
    try FileManager.default.createDirectory(atPath: scans, withIntermediateDirectories: true)
    try root.configure(Self.configuration)
    try await daemon.reload()
    // The page hears of a folder when it asks next, which the ends of the pauses have it do.
    try await daemon.wait { $0.managerStatus?.contains("hot folders") == false }
    for pause in [#"{"queue": "blue"}"#, "{}"] { _ = try await daemon.request("POST", "/v1/resume", body: pause) }
    try await browser.wait(for: "document.querySelector('.tile.state-completed .value').textContent === '1'")
    try await browser.wait(for: "\(Self.problems).length === 0 && \(state) === 'running'")
    try await visit.end()
  }

  @Test("Every trouble that the status tells is a sentence at the top of the overview")
  func everyTrouble() async throws {
    let visit = try await browse("configuration")
    let browser = visit.browser
    try await browser.wait(forText: "FlushIntervalSec")
    let moment = "2026-11-21T10:00:00.000Z"
    // As a daemon answers that has all of them. A tab that is hidden hears no events, which would tell of the real one.
    try await browser.run(
      """
      Object.defineProperty(document, 'hidden', {value: true, configurable: true})
      document.dispatchEvent(new Event('visibilitychange'))
      const real = fetch
      const troubles = {
        databaseAwaySince: '\(moment)', databaseAwayReason: 'is it up?',
        heldTypes: [{type: 'fax', reason: 'no modem'}, {type: 'print', reason: 'no printer'}],
        refusedConfiguration: ['bobbin.conf:2: no number'], untakenModels: ['Reading would lose its number'],
        copy: {path: '/copy.sqlite', problem: 'no room'}, hotFolders: {count: 2, troubled: ['scans', 'faxes']},
        pauses: [{kind: 'all', name: null}, {kind: 'host', name: 'ash'}, {kind: 'queue', name: 'blue'},
          {kind: 'schedule', name: 'tick'}, {kind: 'type', name: 'import'}],
      }
      window.fetch = async (path, options) => {
        const response = await real(path, options)
        if (path !== '/v1/status') return response
        const status = await response.json()
        const writer = {...status.writer, lastError: 'disk I/O error'}
        return new Response(JSON.stringify({...status, ...troubles, ...told, writer}), response)
      }
      """)
    for (state, sentence, jobs, beginning) in [
      (
        "storage-full", "The disk is full: nothing is accepted until there is room, and nothing is lost.",
        1, "A job is"
      ),
      (
        "store-busy", "Another program keeps the store locked: nothing is accepted until it ends its transaction.",
        2, "2 jobs are"
      ),
      (
        "database-away",
        "The fleet's database has not answered since \(moment) (is it up?): files in new/ wait, and running jobs go on.",
        3, "3 jobs are"
      ),
    ] {
      try await browser.run("window.told = {state: '\(state)', shortage: {jobs: \(jobs), reason: 'no room on /out'}}")
      try await visit.go("overview")
      try await browser.wait(for: "document.querySelector('main > .problem')")
      let found = try await browser.run("return \(Self.problems)").array?.compactMap(\.string)
      #expect(
        found == [
          sentence, "The last flush failed: disk I/O error", "Jobs of the type fax are held: no modem",
          "Jobs of the type print are held: no printer",
          "\(beginning) tried again until this is mended: no room on /out",
          "The new configuration was refused, an earlier one is in force: bobbin.conf:2: no number",
          "The models were not taken: Reading would lose its number",
          "The copy of the store could not be made: no room",
          "The hot folder scans has a problem; the schedules' view tells which.",
          "The hot folder faxes has a problem; the schedules' view tells which.",
          "Paused: everything, the host ash, the queue blue, the schedule tick, the type import.",
        ])
      try await visit.go("configuration")
      try await browser.wait(forText: "FlushIntervalSec")
    }
    try await visit.end()
  }

  @Test("A job that has failed for good tells what went wrong in each of its attempts, the last one's at the top")
  func attempts() async throws {
    try root.declare(
      "telling", #"printf '{"error": {"message": "paper jam %s"}}\n' "$BOBBIN_ATTEMPT""#, "MaxAttempts=2")
    try root.declare("logging", #"echo "no paper in tray $BOBBIN_ATTEMPT" >&2; exit 1"#, "MaxAttempts=2")
    let visit = try await browse()
    let browser = visit.browser
    let backoff = #""backoff": {"kind": "fixed", "base": "1ms"}"#
    let jobs = try await visit.daemon.submit(
      #"{"jobs": [{"type": "telling", "id": "told", \#(backoff)}, {"type": "logging", "id": "logged", \#(backoff)}]}"#)
    #expect(jobs.allSatisfy { $0["state"] == "discarded" }, "\(jobs)")
    /// Reads the texts of parts, which are selectors, of each element that a selector finds.
    func texts(_ selector: String, _ parts: String) async throws -> [String]? {
      try await browser.run(
        """
        const brief = text => text?.trim().replace(/ after .*| exited with code 1; it used .* MiB of memory$/, '')
        return [...document.querySelectorAll('\(selector)')].map(one =>
          \(parts).map(part => brief(one.querySelector(part)?.textContent)).filter(Boolean).join(': '))
        """
      ).array?.compactMap(\.string)
    }
    // Of attempts without a log the timeline tells the reasons.
    try await visit.go("jobs/told")
    try await browser.wait(for: "document.querySelectorAll('.timeline li').length === 3")
    #expect(
      try await texts(".timeline li", "['.event', '.error-text']")
        == ["accepted", "attempt 1: retryable: paper jam 1", "attempt 2: discarded"])
    #expect(try await browser.run("return \(Self.problems).join('|')").string == "paper jam 2")
    // Of others the log does, each below its own reason.
    try await visit.go("jobs/logged")
    try await browser.wait(for: "document.querySelectorAll('pre.log').length === 2")
    #expect(
      try await texts(".timeline li", "['.event', '.error-text']")
        == ["accepted", "attempt 1: retryable", "attempt 2: discarded"])
    #expect(
      try await texts("details[data-key^=log]", "['summary', '.error-text', 'pre.log']") == [
        "Attempt 1, retryable: the program /bin/sh: no paper in tray 1", "Attempt 2, discarded: no paper in tray 2",
      ])
    let last = try await browser.run("return \(Self.problems).join('|')").string ?? ""
    #expect(last.contains("exited with code 1") && last.hasSuffix("its log ends: no paper in tray 2"), "\(last)")
    try await visit.end()
  }
}
