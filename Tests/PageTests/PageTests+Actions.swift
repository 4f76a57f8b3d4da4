import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// What is done to jobs, queues and schedules, by pointer and by keyboard.
extension PageTests {
  @Test("What is done to a selection, or to all that match, is asked for first and told for each")
  func commands() async throws {
    let visit = try await browse("jobs")
    let (daemon, browser) = (visit.daemon, visit.browser)
    let jobs = (1...60).map { #"{"type": "noop", "id": "later-\#($0)", "delay": "1h"}"# }.joined(separator: ",")
    _ = try await daemon.request("POST", "/v1/jobs", body: #"{"jobs": [\#(jobs)]}"#)
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 50")
    try await browser.click("input[aria-label='Select later-60']")
    try await browser.click("input[aria-label='Select later-58']")
    try await browser.click("button[data-key=hold]")
    try await browser.click(button: "Hold 2 jobs", in: "dialog")
    try await browser.wait(forText: "Hold: done for 2 jobs")
    try await browser.wait(for: "document.querySelectorAll('tbody .state-held').length === 2")
    #expect(try await daemon.get("/v1/jobs/later-58")["state"]?.string == "held")
    // A release of one that is not held is told.
    try await browser.click("input[aria-label='Select later-60']")
    try await browser.click("input[aria-label='Select later-59']")
    try await browser.click("button[data-key=release]")
    try await browser.click(button: "Release 2 jobs", in: "dialog")
    try await browser.wait(for: "document.querySelector('dialog')?.innerText.includes('not possible while it is')")
    try await browser.click(button: "Close", in: "dialog")
    // All on the page, then all that match; nothing is done before it is asked for.
    try await browser.click("input[aria-label='Select all on this page']")
    try await browser.click(button: "Select all 60 that match")
    try await browser.click("button[data-key=cancel]")
    try await browser.click(button: "Back", in: "dialog")
    #expect(try await daemon.get("/v1/status")["jobs"]?["cancelled"]?.integer == 0)
    try await browser.click("button[data-key=cancel]")
    try await browser.wait(for: "document.activeElement.closest('dialog')")
    try await browser.run("document.getElementById('reason').value = 'no need'")
    try await browser.click(button: "Cancel 60 jobs", in: "dialog")
    try await browser.wait(forText: "Cancel: done for 60 jobs")
    #expect(try await daemon.get("/v1/jobs/later-1")["error"]?.string?.contains("no need") == true)
    try await visit.end()
  }

  @Test("A job's own page and the quarantine have their commands, and the overview flushes")
  func commandsOfOne() async throws {
    try root.declare("crashing", "kill -SEGV $$", "MaxAttempts=9")
    let visit = try await browse()
    let (daemon, browser) = (visit.daemon, visit.browser)
    _ = try await daemon.submit(
      #"""
      {"jobs": [{"type": "crashing", "id": "crash", "backoff": {"kind": "fixed", "base": "1ms"}},
        {"type": "failing", "id": "bad"}]}
      """#)
    _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "id": "later", "delay": "1h"}"#)
    func command(_ name: String, _ label: String, of place: String = "main", prepare: String? = nil) async throws {
      try await browser.click("\(place) button[data-key=\(name)]")
      try await browser.wait(for: "document.activeElement.closest('dialog')")
      if let prepare { try await browser.run(prepare) }
      try await browser.click(button: "\(label) 1 job", in: "dialog")
      try await browser.wait(forText: "\(label): done for 1 job")
    }
    try await visit.go("jobs/later")
    try await browser.wait(for: "document.querySelector('h1 .state-scheduled')")
    try await command("priority", "Priority", prepare: "document.getElementById('value').value = 7")
    #expect(try await daemon.get("/v1/jobs/later")["priority"]?.integer == 7)
    // A button that has the focus becomes no other command's when the job's state changes.
    try await browser.run("document.querySelector('main button[data-key=cancel]').focus()")
    _ = try await daemon.request("POST", "/v1/commands", body: #"{"command": "retry", "jobs": ["later"]}"#)
    try await browser.wait(for: "document.querySelector('h1 .state-completed')")
    #expect(try await browser.run("return document.activeElement.textContent !== 'Delete'").bool == true)
    try await command("delete", "Delete")
    #expect(try await daemon.request("GET", "/v1/jobs/later").status == 404)
    try await visit.go("jobs/bad")
    try await browser.wait(for: "document.querySelector('h1 .state-discarded')")
    try await command("retry", "Retry")
    _ = try await daemon.submit(#"{"type": "noop", "afterAny": "bad"}"#)
    #expect(try await daemon.get("/v1/jobs/bad/attempts")["attempts"]?.array?.count == 2)
    try await visit.go("quarantine")
    try await command("redrive", "Redrive", of: "[data-key=crash]")
    _ = try await daemon.submit(#"{"type": "noop", "afterAny": "crash"}"#)
    let crashes = try await daemon.get("/v1/jobs/crash/attempts")["attempts"]?.array?.count ?? 0
    #expect(crashes > 3, "it has run again")
    try await visit.go("overview")
    try await browser.click(button: "Flush now")
    try await daemon.waitForLog("asked: POST /v1/flush {}: 200")
    try await visit.end()
  }

  @Test("A queue and a type are shown with their limits, and are paused and resumed, each by its own button")
  func pauses() async throws {
    try root.configure(Self.configuration + "[Queue blue]\nConcurrency=3\nRateLimit=100/min\n")
    let visit = try await browse("queues")
    let browser = visit.browser
    _ = try await visit.daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "queue": "blue", "delay": "1h"}"#)
    try await browser.wait(
      for: "document.querySelector('tr[data-key=blue]')?.innerText.includes('0 of 3 run, at most 100/min')")
    for name in ["blue", "noop"] {
      try await browser.click("button[aria-label='Pause \(name)']")
      try await browser.wait(for: "document.querySelector('tr[data-key=\(name)] .badge')?.textContent === 'paused'")
      #expect(try await visit.daemon.get("/v1/status")["pauses"]?.array?.first?["name"]?.string == name)
      try await browser.click("button[aria-label='Resume \(name)']")
      try await browser.wait(for: "document.querySelector('button[aria-label=\"Pause \(name)\"]')")
      #expect(try await visit.daemon.get("/v1/status")["pauses"]?.array?.isEmpty == true)
    }
    try await visit.end()
  }

  @Test("A form made of a type's arguments submits a job, by keyboard alone, and says what is wrong")
  func submitting() async throws {
    try root.write(
      "[Handler]\nType=print\nExecStart=/bin/cat\nRequiredArguments=input:path\nOptionalArguments=pages:integer both:boolean\n",
      to: root.paths.handlers + "/print.conf")
    let visit = try await browse("submit/print")
    let browser = visit.browser
    try await browser.wait(for: "document.getElementById('argument-input')")
    // From the field of the type on, with the tabulator.
    try await browser.run("document.getElementById('type').focus()")
    try await browser.type(
      Browser.Key.tab + "paper.txt" + Browser.Key.tab + "7" + Browser.Key.tab + "y" + Browser.Key.enter)
    try await browser.run("document.querySelector('form button[type=submit]').focus()")
    try await browser.type(Browser.Key.enter)
    try await browser.wait(for: "location.hash.startsWith('#/jobs/print-')")
    let id = try await browser.run("return decodeURIComponent(location.hash.slice(7))").string ?? ""
    let job = try await visit.daemon.get("/v1/jobs/\(id)")
    #expect(job["arguments"]?.serialized() == #"{"input":"paper.txt","pages":7,"both":true}"#)
    try await visit.go("submit/import")
    try await browser.wait(for: "document.getElementById('argument-entity')?.options.length")
    try await browser.run(
      "document.getElementById('argument-input').value = 'none.csv'; document.getElementById('argument-columns').value = '{'"
    )
    try await browser.click("form button[type=submit]")
    try await browser.wait(for: "document.querySelector('form .problem')")
    try await visit.go("configuration")
    try await browser.wait(forText: "FlushIntervalSec")
    try await browser.click("input[type=checkbox]")
    try await browser.wait(
      for:
        "[...document.querySelectorAll('tbody tr')].map(one => one.cells[0].innerText).join() === 'Count,FlushIntervalSec'"
    )
    try await visit.end()
  }

  @Test("A form has a list of objects, fields that a line hides, and settings of the job, and submits what is in them")
  func nestedForm() async throws {
    let visit = try await browse("submit")
    let (daemon, browser) = (visit.daemon, visit.browser)
    let jobs = ["first", "second"].map { #"{"type": "noop", "id": "\#($0)", "delay": "1h"}"# }
    _ = try await daemon.request("POST", "/v1/jobs", body: #"{"jobs": [\#(jobs.joined(separator: ","))]}"#)
    try await browser.wait(for: "document.querySelector('#type option[value=\"image.encode\"]')")
    try await browser.run(
      """
      const type = document.getElementById('type')
      type.value = 'image.encode'
      type.dispatchEvent(new Event('change'))
      """)
    func enter(_ text: String, in field: String) async throws {
      try await browser.wait(for: "document.getElementById('\(field)')")
      try await browser.run("document.getElementById('\(field)').focus()")
      try await browser.type(text)
    }
    try await enter("in.jpg", in: "argument-input")
    try await enter("small.png", in: "argument-outputs-1-path")
    try await enter("40", in: "argument-outputs-1-width")
    try await browser.click(button: "Add to outputs")
    try await enter("gone.png", in: "argument-outputs-2-path")
    try await browser.click(button: "Add to outputs")
    try await enter("w", in: "argument-outputs-3-format")
    try await enter(#"{"title": "Cover"}"#, in: "argument-outputs-3-store")
    try await browser.click(button: "Remove", in: "[data-name=outputs] > fieldset:nth-child(2)")
    try await browser.click("[data-group] > details > summary")
    try await enter("y", in: "argument-placeholder")
    try await browser.click("[data-settings] > summary")
    try await enter("cover", in: "job-id")
    try await enter("blue", in: "job-queue")
    try await browser.run("document.getElementById('job-after').value = \(Browser.literal("first\nsecond"))")
    try await browser.click("form button[type=submit]")
    try await browser.wait(for: "location.hash === '#/jobs/cover' && document.querySelector('h1 .state-waiting')")
    let job = try await daemon.get("/v1/jobs/cover")
    let outputs = #"[{"path":"small.png","width":40},{"format":"webp","store":{"title":"Cover"}}]"#
    #expect(job["arguments"]?.serialized() == #"{"input":"in.jpg","outputs":\#(outputs),"placeholder":true}"#)
    #expect(job["queue"]?.string == "blue")
    #expect(job["options"]?["after"]?.serialized() == #"["first","second"]"#)
    try await visit.end()
  }

  @Test("A job's arguments are edited in a dialog, which keeps what was typed if the daemon refuses it")
  func editing() async throws {
    try root.write(
      "[Handler]\nType=print\nExecStart=/bin/cat\nOptionalArguments=pages:integer\n",
      to: root.paths.handlers + "/print.conf")
    let visit = try await browse("jobs/paper")
    let (daemon, browser) = (visit.daemon, visit.browser)
    _ = try await daemon.request(
      "POST", "/v1/jobs", body: #"{"type": "print", "id": "paper", "delay": "1h", "arguments": {"pages": 7}}"#)
    try await browser.wait(for: "document.querySelector('h1 .state-scheduled')")
    try await browser.click("main button[data-key=edit]")
    try await browser.wait(for: "document.activeElement.closest('dialog')")
    for (text, reason) in [(#"{"pages": "#, "JSON"), (#"{"pages": "many"}"#, "pages")] {
      try await browser.run("document.getElementById('arguments').value = \(Browser.literal(text))")
      try await browser.click(button: "Save", in: "dialog")
      try await browser.wait(
        for: "document.querySelector('dialog [role=alert]').textContent.includes(\(Browser.literal(reason)))")
      #expect(try await browser.run("return document.getElementById('arguments').value").string == text)
    }
    try await browser.run(#"document.getElementById('arguments').value = '{"pages": 8}'"#)
    try await browser.click(button: "Save", in: "dialog")
    try await browser.wait(forText: "paper has other arguments now")
    #expect(try await daemon.get("/v1/jobs/paper")["arguments"] == .object(["pages": 8]))
    try await browser.wait(for: "[...document.querySelectorAll('pre.code')].some(one => one.textContent.includes('8'))")

    // Somebody else has been faster: the reader sees what theirs would replace, and takes that or goes on.
    try await browser.click("main button[data-key=edit]")
    try await browser.wait(for: "document.activeElement.closest('dialog')")
    #expect(try await daemon.tool("edit", "paper", "pages=9").code == 0)
    try await browser.run(#"document.getElementById('arguments').value = '{"pages": 10}'"#)
    try await browser.click(button: "Save", in: "dialog")
    try await browser.wait(for: "document.querySelector('dialog [role=alert] pre')?.textContent.includes('9')")
    #expect(try await daemon.get("/v1/jobs/paper")["arguments"] == .object(["pages": 9]))
    try await browser.click(button: "Go on with these", in: "dialog")
    try await browser.wait(for: "document.getElementById('arguments').value.includes('9')")
    try await browser.run(#"document.getElementById('arguments').value = '{"pages": 11}'"#)
    try await browser.click(button: "Save", in: "dialog")
    try await browser.wait(for: "!document.querySelector('dialog[open]')")
    #expect(try await daemon.get("/v1/jobs/paper")["arguments"] == .object(["pages": 11]))
    try await visit.end()
  }

  @Test("Actions are reached by the tabulator, and done and agreed to by Enter")
  func actionsByKeyboard() async throws {
    let visit = try await browse("overview")
    let (daemon, browser) = (visit.daemon, visit.browser)
    _ = try await fill(daemon)
    _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "id": "later", "delay": "1h"}"#)
    /// Presses what is called so, from the beginning of the view on, where the link at the top of the page leads.
    func press(_ label: String, of key: String? = nil) async throws {
      let place = key.map { " && one.closest('[data-key=\($0)]')" } ?? ""
      try await browser.wait(
        for: "[...document.querySelectorAll('main :is(a, button)')].some(one => \(Self.isCalled(label))\(place))")
      try await browser.run("document.getElementById('main').focus()")
      try await browser.tab(to: Self.isCalled(label) + place)
      try await browser.type(Browser.Key.enter)
    }
    func agree(_ label: String) async throws {
      try await browser.wait(for: "document.activeElement.closest('dialog')")
      try await browser.tab(to: Self.isCalled(label))
      try await browser.type(Browser.Key.enter)
      // The dialog is gone before the daemon has answered.
      try await browser.wait(forText: label.replacing(" ", with: ": done for ", maxReplacements: 1))
    }
    try await press("Pause all")
    try await press("Resume all")
    try await press("Last day")
    try await browser.wait(for: "location.hash.includes('span=day')")
    try await press("Flush now")
    try await daemon.waitForLog("asked: POST /v1/flush {}: 200")
    try await visit.go("queues")
    for name in ["Pause default", "Resume default", "Pause noop", "Resume noop", "Pause all", "Resume all"] {
      try await press(name)
    }
    try await visit.go("schedules")
    let schedule = try await daemon.get("/v1/schedules")["schedules"]?.array?.first
    for key in ["moments", "overlap", "jobFile"] {
      try await browser.wait(forText: try #require(schedule?[key]?.string, "\(key)"))
    }
    for name in ["Run tick now", "Pause tick", "Resume tick"] { try await press(name) }
    try await browser.wait(forText: "tick is resumed")
    try await visit.go("jobs/later")
    for (name, state) in [
      ("Hold", "held"), ("Release", "scheduled"), ("Priority", "scheduled"), ("Retry", "completed"), ("Delete", nil),
    ] {
      try await press(name)
      try await agree("\(name) 1 job")
      if let state { try await browser.wait(for: "document.querySelector('h1 .state-\(state)')") }
    }
    #expect(try await daemon.request("GET", "/v1/jobs/later").status == 404)
    try await visit.go("jobs/slow")
    try await press("Cancel")
    try await agree("Cancel 1 job")
    try await browser.wait(for: "document.querySelector('h1 .state-cancelled')")
    try await visit.go("batches/night")
    try await press("Retry all")
    try await agree("Retry 4 jobs")
    try await visit.go("quarantine")
    try await press("Redrive", of: "crash")
    try await agree("Redrive 1 job")
    _ = try await daemon.submit(#"{"type": "noop", "afterAny": "crash"}"#)
    try await press("Cancel all")
    try await agree("Cancel 1 job")
    try await browser.wait(forText: "No job is in quarantine.")
    try await visit.go("jobs")
    try await browser.wait(for: "document.querySelector('.jobs')")
    try await browser.run("document.getElementById('main').focus()")
    try await browser.tab(to: Self.isCalled("Select all on this page"))
    try await browser.type(Browser.Key.space)
    try await press("Clear")
    try await browser.wait(for: "!document.querySelector('.command-bar')")
    try await visit.go("jobs?queue=default")
    try await press("Remove the filter queue")
    try await browser.wait(for: "location.hash === '#/jobs'")
    try await visit.go("objects/Reading")
    try await press("number")
    try await browser.wait(for: "location.hash.includes('sort=number')")
    try await press("More")
    try await browser.wait(for: "location.hash.includes('page=')")
    try await press("Back")
    try await browser.wait(for: "!location.hash.includes('page=')")
    try root.payload("go", "")
    try await visit.end()
  }

  /// An expression of what an element is called, for those who see it or have it read.
  private static func isCalled(_ label: String) -> String {
    "(one.getAttribute('aria-label') ?? one.textContent.trim()) === \(Browser.literal(label))"
  }
}
