import DaemonTesting
import Foundation
import JSONText
import SystemSupport
import TestSupport
import Testing

/// The page in a real browser, on a real daemon; one browser at a time.
@Suite("The page in a browser", .serialized, .enabled(if: Browser.isInstalled()))
struct PageTests {
  let root: DaemonRoot

  init() throws {
    root = try DaemonRoot()
    try root.declare("patient", "echo hello from the log >&2; while [ ! -e go ]; do sleep 0.05; done")
    try root.declare("failing", "echo no paper >&2; exit 1", "MaxAttempts=1")
  }

  /// Starts a daemon and a browser that shows a view of it.
  func browse(_ view: String = "", width: Int = 1280, isDark: Bool = false) async throws -> Visit {
    let daemon = try await DaemonProcess.ready(root)
    let address = try await PageAddress(of: root)
    let browser = try await Browser.start(width: width, isDark: isDark)
    try await browser.open(address.view(view))
    return Visit(daemon: daemon, address: address, browser: browser)
  }

  struct Visit {
    let daemon: DaemonProcess
    let address: PageAddress
    let browser: Browser

    /// Goes to another view, as a link does.
    func go(_ view: String) async throws { try await browser.run("location.hash = \(Browser.literal("#/" + view))") }

    /// Ends both; nothing may have gone wrong that only the console tells.
    func end() async throws {
      let complaints = try await browser.complaints()
      #expect(complaints == [])
      try await browser.end()
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }

  @Test("The overview and the list of jobs follow what happens, without being loaded again")
  func live() async throws {
    let visit = try await browse()
    let (daemon, browser) = (visit.daemon, visit.browser)
    try await browser.wait(forText: "0 of")
    try await browser.run("window.isSame = true")
    _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "patient", "id": "slow-one"}"#)
    // The running job is among the workers, with its link.
    try await browser.click("a[href='#/jobs/slow-one']")
    try await browser.wait(forText: "hello from the log")
    try await browser.wait(for: "document.querySelector('h1 .state-running')")
    try root.payload("go", "")
    try await browser.wait(for: "document.querySelector('h1 .state-completed')")
    try await visit.go("jobs")
    _ = try await daemon.submit(#"{"type": "failing", "id": "bad-one"}"#)
    try await browser.wait(for: "document.querySelector('tr[data-key=bad-one] .state-discarded')")
    try await browser.wait(forText: "no paper")
    #expect(try await browser.run("return window.isSame").bool == true)
    try await visit.end()
  }

  @Test("Filters are typed, completed and in the address, and going back brings the last ones")
  func filters() async throws {
    let visit = try await browse("jobs")
    let (daemon, browser) = (visit.daemon, visit.browser)
    _ = try await daemon.submit(
      #"""
      {"jobs": [{"type": "noop", "id": "a", "queue": "blue"}, {"type": "noop", "id": "b"}, {"type": "failing", "id": "c"}]}
      """#)
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 3")
    try await browser.click("#filter")
    try await browser.type("qu")
    try await browser.wait(for: "document.querySelector('[role=option]')?.textContent.startsWith('queue:')")
    // The name by the arrow and Enter, then the value, which completion knows from the list.
    try await browser.type(Browser.Key.down + Browser.Key.enter)
    try await browser.wait(
      for: "[...document.querySelectorAll('[role=option]')].some(one => one.textContent.includes('blue'))")
    try await browser.type("bl")
    try await browser.wait(for: "document.querySelectorAll('[role=option]').length === 1")
    try await browser.type(Browser.Key.down + Browser.Key.enter)
    try await browser.wait(
      for: "location.hash === '#/jobs?queue=blue' && document.querySelectorAll('tbody tr').length === 1")
    try await browser.click("nav.tabs a")
    try await browser.click("button[aria-label='Remove the filter queue']")
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 3")
    // An argument by its own name, which the schemas of the types have.
    try await browser.click("#filter")
    try await browser.type("entity")
    try await browser.wait(for: "document.querySelector('[role=option]')?.textContent.startsWith('argument.entity:')")
    try await browser.type(Browser.Key.down + Browser.Key.enter + "Nothing" + Browser.Key.enter)
    try await browser.wait(for: "location.hash === '#/jobs?argument.entity=Nothing'")
    try await browser.wait(forText: "No job matches")
    try await browser.click("button[aria-label='Remove the filter argument.entity']")
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 3")
    try await browser.click("nav.tabs a.state-discarded")
    try await browser.wait(
      for: "location.hash.includes('state=discarded') && document.querySelectorAll('tbody tr').length === 1")
    try await browser.back()
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 3")
    try await visit.end()
  }

  @Test("What is done to a selection, or to all that match, is asked for first and told for each")
  func commands() async throws {
    let visit = try await browse("jobs")
    let (daemon, browser) = (visit.daemon, visit.browser)
    let jobs = (1...60).map { #"{"type": "noop", "id": "later-\#($0)", "delay": "1h"}"# }.joined(separator: ",")
    _ = try await daemon.request("POST", "/v1/jobs", body: #"{"jobs": [\#(jobs)]}"#)
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 50")
    try await browser.click("input[aria-label='Select later-60']")
    try await browser.click("input[aria-label='Select later-58']")
    try await browser.click("button[data-command=hold]")
    try await browser.click(button: "Hold 2 jobs", in: "dialog")
    try await browser.wait(forText: "Hold: done for 2 jobs")
    try await browser.wait(for: "document.querySelectorAll('tbody .state-held').length === 2")
    #expect(try await daemon.get("/v1/jobs/later-58")["state"]?.string == "held")
    // A release of one that is not held is told.
    try await browser.click("input[aria-label='Select later-60']")
    try await browser.click("input[aria-label='Select later-59']")
    try await browser.click("button[data-command=release]")
    try await browser.click(button: "Release 2 jobs", in: "dialog")
    try await browser.wait(for: "document.querySelector('dialog')?.innerText.includes('not possible while it is')")
    try await browser.click(button: "Close", in: "dialog")
    // All on the page, then all that match; nothing is done before it is asked for.
    try await browser.click("input[aria-label='Select all on this page']")
    try await browser.click(button: "Select all 60 that match")
    try await browser.click("button[data-command=cancel]")
    try await browser.click(button: "Back", in: "dialog")
    #expect(try await daemon.get("/v1/status")["jobs"]?["cancelled"]?.integer == 0)
    try await browser.click("button[data-command=cancel]")
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
      try await browser.click("\(place) button[data-command=\(name)]")
      try await browser.wait(for: "document.activeElement.closest('dialog')")
      if let prepare { try await browser.run(prepare) }
      try await browser.click(button: "\(label) 1 job", in: "dialog")
      try await browser.wait(forText: "\(label): done for 1 job")
    }
    try await visit.go("jobs/later")
    try await browser.wait(for: "document.querySelector('h1 .state-scheduled')")
    try await command("priority", "Priority", prepare: "document.getElementById('value').value = 7")
    #expect(try await daemon.get("/v1/jobs/later")["priority"]?.integer == 7)
    try await command("retry", "Retry")
    try await browser.wait(for: "document.querySelector('h1 .state-completed')")
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

  @Test("Texts of jobs stay texts, wherever they are shown")
  func injection() async throws {
    let visit = try await browse("jobs")
    let (daemon, browser) = (visit.daemon, visit.browser)
    let evil = #"<img src=x onerror=\"window.isHurt=1\"><script>window.isHurt=1</script>"#
    try root.declare("evil", "cat >&2; exit 1", "MaxAttempts=1")
    try await daemon.reload()
    _ = try await daemon.submit(
      #"{"type": "evil", "id": "\#(evil)", "queue": "\#(evil)", "batch": "\#(evil)", "arguments": {"\#(evil)": "\#(evil)"}}"#
    )
    for view in ["jobs", "", "queues", "batches", "schedules"] {
      try await visit.go(view)
      try await browser.wait(for: "document.querySelector('h1')")
    }
    func expectNoHarm(_ place: String) async throws {
      #expect(try await browser.run("return window.isHurt ?? null") == .null, "\(place)")
      let elements = "return document.querySelectorAll('main :is(img[src=x], script)').length"
      #expect(try await browser.run(elements).integer == 0, "\(place)")
    }
    try await visit.go("jobs")
    try await browser.click("tbody a.mono")
    try await browser.wait(for: "document.querySelector('h1').innerText.includes('<script>')")
    try await browser.wait(for: "document.querySelector('pre.log').innerText.includes('<script>')")
    try await expectNoHarm("a job's page")

    // What programs, files and people say later.
    try root.declare(
      "telling",
      #"""
      printf '%s\n' '{"progress": {"done": 1, "total": 2, "unit": "\#(evil)", "message": "\#(evil)"}}' '{"result": {"it": "\#(evil)"}}'
      while [ ! -e go ]; do sleep 0.05; done
      """#)
    try root.declare(
      "complaining", #"printf '%s\n' '{"error": {"message": "\#(evil)", "permanent": true}}'"#, "MaxAttempts=1")
    let name = "<img src=x onerror=window.isHurt=1>"
    let folder = root.directory.path(name)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let template = root.paths.configuration + "/any.json"
    try root.write(#"{"type": "noop"}"#, to: template)
    try root.write(
      "[Folder]\nPath=\(folder)\nSettle=0\nJob=\(template)\n", to: root.paths.configuration + "/folders.d/scans.conf")
    let field = "\"" + evil.replacing(#"\""#, with: "\"\"") + "\""
    try root.payload("evil.csv", "job,number\n\(field),1\n\(field),\(field)\n")
    try await daemon.reload()
    try root.write("scan", to: folder + "/\(name)")
    _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "id": "later", "delay": "1h"}"#)
    _ = try await daemon.request(
      "POST", "/v1/commands", body: #"{"command": "cancel", "jobs": ["later"], "reason": "\#(evil)"}"#)
    _ = try await daemon.submit(
      #"""
      {"jobs": [{"type": "complaining", "id": "complaining"},
        {"type": "import", "id": "import", "arguments": {"input": "evil.csv", "entity": "Reading", "maxRejects": 5}}]}
      """#)
    try root.drop(#"{"type": "noop", "id": "named"}"#, as: FileName("\(name).json"))
    try await daemon.waitUntilSpoolIsEmpty()
    _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "telling", "id": "telling"}"#)
    for (view, place) in [
      ("jobs/telling", ".progress .message"), ("jobs/complaining", "p.problem"), ("jobs/later", "p.problem"),
      ("jobs/import", "table code.raw"), ("jobs/named", ".facts code"), ("objects/Reading", "td .value-text"),
      ("schedules", "td code"), ("schedules", "td a.mono"),
      ("jobs", "td .error-text"),
    ] {
      try await visit.go(view)
      try await browser.wait(
        for:
          "[...document.querySelectorAll(\(Browser.literal(place)))].some(one => one.innerText.includes('<img src=x'))")
      try await expectNoHarm("\(view), \(place)")
    }
    try root.payload("go", "")
    try await visit.go("jobs/telling")
    try await browser.wait(
      for: "[...document.querySelectorAll('pre.code')].some(one => one.innerText.includes('<script>'))")
    try await expectNoHarm("a result")
    try await visit.end()
  }

  /// A daemon with something to show in every view; returns the addresses of the views.
  func fill(_ daemon: DaemonProcess) async throws -> [String] {
    try root.write("[Schedule]\nEvery=1h\nJob=tick.json\n", to: root.paths.configuration + "/schedules.d/tick.conf")
    try root.write(#"{"type": "noop"}"#, to: root.paths.configuration + "/schedules.d/tick.json")
    try root.declare("crashing", "echo last words >&2; kill -SEGV $$", "MaxAttempts=9")
    try await daemon.reload()
    #expect(try await daemon.request("POST", "/v1/schedules/tick/run").status == 200)
    _ = try await daemon.submit(
      #"""
      {"jobs": [{"type": "crashing", "id": "crash", "backoff": {"kind": "fixed", "base": "1ms"}}, {"type": "failing", "id": "bad"},
        {"type": "noop", "id": "first", "batch": "night"}]}
      """#)
    _ = try await daemon.request(
      "POST", "/v1/jobs",
      body: #"""
        {"jobs": [{"type": "patient", "id": "slow", "batch": "night"}, {"type": "noop", "id": "pack", "batch": "night", "after": ["first", "slow"]},
          {"type": "noop", "id": "send", "batch": "night", "after": "pack"}]}
        """#)
    return [
      "overview", "jobs", "jobs/bad", "jobs/pack", "batches", "batches/night", "schedules", "queues", "objects",
      "quarantine",
      "submit/failing", "submit/image.encode", "configuration", "nowhere",
    ]
  }

  @Test("Every view can be read by everybody, in both themes, from narrow to wide")
  func accessibility() async throws {
    let visit = try await browse()
    let browser = visit.browser
    let views = try await fill(visit.daemon)
    let script = AccessibilityAudit.script
    for (width, isDark) in [(360, false), (1280, true), (2560, false)] {
      try await browser.set(width: width, isDark: isDark, movesLess: isDark)
      for view in views {
        try await visit.go(view)
        try await browser.wait(for: "document.querySelector('main[aria-busy=false] h1')")
        let place = "\(view) at \(width), dark: \(isDark)"
        // Only what is marked for it scrolls sideways.
        let overflow = try await browser.run("return document.documentElement.scrollWidth - innerWidth")
        #expect((overflow.integer ?? 1) <= 0, "\(place)")
        guard let script else { continue }
        let violations = try await AccessibilityAudit.violations(browser, script)
        #expect(violations == [], "\(place)")
      }
    }
    try root.payload("go", "")
    try await visit.end()
  }

  @Test("A workflow is shown as a graph, batches with their progress, and a crash with its last words")
  func story() async throws {
    let visit = try await browse()
    let browser = visit.browser
    _ = try await fill(visit.daemon)
    try await visit.go("jobs/pack")
    // What it waits for and who waits for it, with links.
    try await browser.wait(for: "document.querySelectorAll('.graph a').length === 4")
    try await browser.wait(forText: "pack waits for slow.")
    try await browser.wait(forText: "it waits for the job \"slow\"")
    try await visit.go("batches")
    try await browser.click(button: "night")
    try await browser.wait(forText: "3 jobs of 4 left")
    try root.payload("go", "")
    try await browser.wait(forText: "All 4 jobs are over")
    try await visit.go("quarantine")
    try await browser.wait(forText: "last words")
    try await browser.click(button: "Cancel all")
    try await browser.click(button: "Cancel 1 job", in: "dialog")
    try await browser.wait(forText: "No job is in quarantine.")
    try await browser.wait(for: "!document.querySelector('#views .number')")
    try await visit.go("schedules")
    try await browser.wait(for: "document.querySelector('.bars .state-completed')")
    try await browser.click("button[aria-label='Run tick now']")
    try await browser.wait(forText: "tick has fired")
    try await browser.click("button[aria-label='Pause tick']")
    try await browser.wait(for: "document.querySelector('button[aria-label=\"Resume tick\"]')")
    try await visit.go("queues")
    try await browser.click(button: "Pause all")
    try await browser.wait(forText: "Everything is paused: no job is started until it is resumed.")
    try await browser.click(button: "Resume all")
    try await browser.wait(forText: "Everything is resumed")
    try await visit.end()
  }

  @Test("Objects are found by predicates, which are completed and whose mistakes are told, and are sorted and paged")
  func objects() async throws {
    try root.payload("readings.csv", "job,number\n" + (1...120).map { "j\($0 % 3),\($0)\n" }.joined())
    let visit = try await browse("objects")
    let browser = visit.browser
    let jobs = try await visit.daemon.submit(
      #"{"type": "import", "arguments": {"input": "readings.csv", "entity": "Reading"}}"#)
    #expect(jobs.first?["state"] == "completed", "\(jobs)")
    let rows = "document.querySelectorAll('tbody tr').length"
    try await browser.click(button: "Reading", in: "main")
    try await browser.wait(for: "\(rows) === 50")
    try await browser.wait(forText: "120 objects")
    // A name is completed; Enter without a choice looks.
    try await browser.click("#predicate")
    try await browser.type("numb")
    try await browser.wait(for: "document.querySelector('[role=option]')?.textContent.startsWith('number')")
    try await browser.type(Browser.Key.down + Browser.Key.enter)
    try await browser.wait(for: "document.getElementById('predicate').value === 'number '")
    try await browser.type("> 110" + Browser.Key.enter)
    try await browser.wait(for: "\(rows) === 10 && location.hash.includes('predicate=')")
    try await browser.click(button: "number", in: "thead")
    try await browser.wait(for: "document.querySelector('tbody tr').innerText.includes('111')")
    try await browser.click(button: "number ↑", in: "thead")
    try await browser.wait(for: "document.querySelector('tbody tr').innerText.includes('120')")
    try await browser.click(button: "Clear")
    try await browser.click(button: "More")
    try await browser.wait(for: "\(rows) === 50 && document.querySelector('tbody tr').innerText.includes('70')")
    try await visit.go("objects/Reading?predicate=" + "nmber > 1".replacing(" ", with: "%20"))
    try await browser.wait(forText: "\"nmber\"")
    try await browser.wait(for: "document.querySelector('.problem .hint')?.innerText.includes('character 1')")
    try await visit.end()
  }

  @Test("A token is asked for over TCP and kept in memory only; whoever may only read sees no buttons")
  func tokens() async throws {
    try root.configure(DaemonRoot.quickFlushes + "[Status]\nListen=127.0.0.1:0\n")
    let (reader, controller) = try await (AccessByToken("dash", "read"), AccessByToken("ops", "control"))
    try root.write("\(reader.line)\n\(controller.line)\n", to: root.paths.tokens)
    let daemon = try await DaemonProcess.ready(root)
    let browser = try await Browser.start()
    let address = "http://127.0.0.1:\(try daemon.tcpPort())/"
    func give(_ token: String) async throws {
      try await browser.click("dialog #token")
      try await browser.type(token + Browser.Key.enter)
    }
    let hasButton = "[...document.querySelectorAll('button')].some(one => one.textContent === 'Pause all')"
    try await browser.open(address)
    try await give("bobbin_" + String(repeating: "x", count: 43))
    try await browser.wait(forText: "This token is not known.")
    try await give(reader.secret)
    try await browser.wait(forText: "0 of")
    try await browser.run("location.hash = '#/queues'")
    try await browser.wait(forText: "No queue has unfinished jobs")
    #expect(try await browser.run("return \(hasButton)").bool == false)
    #expect(try await browser.run("return localStorage.length + sessionStorage.length + document.cookie.length") == 0)
    // Another page knows it no more.
    try await browser.open(address + "?again#/queues")
    try await give(controller.secret)
    try await browser.wait(for: hasButton)
    try await browser.end()
    #expect(try await daemon.stop() == .exited(code: 0))
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
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 1")
    try await visit.end()
  }

  @Test(
    "All is done by keyboard: the content is skipped to, a dialog keeps the focus and gives it back, a theme is chosen")
  func keyboard() async throws {
    let visit = try await browse("jobs")
    let browser = visit.browser
    _ = try await visit.daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "id": "later", "delay": "1h"}"#)
    try await browser.wait(for: "document.querySelector('tr[data-key=later]')")
    try await browser.type(Browser.Key.tab + Browser.Key.enter)
    #expect(try await browser.run("return document.activeElement.id").string == "main")
    try await browser.run("document.querySelector('tr[data-key=later] input').focus()")
    try await browser.type(Browser.Key.space)
    try await browser.wait(for: "document.querySelector('.command-bar')")
    // The focus stays where it is, though the list is drawn anew.
    #expect(try await browser.run("return document.activeElement.closest('tr')?.dataset.key").string == "later")
    try await browser.run("document.querySelector('button[data-command=hold]').focus()")
    try await browser.type(Browser.Key.enter)
    try await browser.wait(for: "document.activeElement.closest('dialog')")
    try await browser.type(Browser.Key.escape)
    try await browser.wait(
      for: "document.activeElement.dataset.command === 'hold' && !document.querySelector('dialog')")
    try await browser.type(Browser.Key.enter)
    try await browser.wait(for: "document.activeElement.closest('dialog')")
    try await browser.type(Browser.Key.tab + Browser.Key.enter)
    try await browser.wait(for: "document.querySelector('tr[data-key=later] .state-held')")
    try await browser.run("document.getElementById('theme').focus()")
    let paper = "getComputedStyle(document.body).backgroundColor"
    let light = try await browser.run("return \(paper)").string
    try await browser.type(Browser.Key.enter + Browser.Key.enter)
    #expect(try await browser.run("return document.documentElement.dataset.theme").string == "dark")
    #expect(try await browser.run("return \(paper)").string != light)
    try await visit.end()
  }

  @Test("Nothing is asked for while the tab is hidden, and little is sent for the first look")
  func restraint() async throws {
    let visit = try await browse()
    let browser = visit.browser
    try await browser.wait(forText: "0 of")
    let sent = try await browser.run(
      """
      return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .reduce((sum, one) => sum + one.transferSize, 0)
      """)
    #expect((sent.number ?? 0) > 1000 && (sent.number ?? 0) < 150_000, "\(sent)")
    // As the browser does it when another tab comes to the front.
    try await browser.run(
      """
      Object.defineProperty(document, 'hidden', {value: true, configurable: true})
      document.dispatchEvent(new Event('visibilitychange'))
      """)
    // What was on its way then may still arrive.
    _ = try await visit.daemon.submit(#"{"type": "noop", "id": "unseen"}"#)
    let count = "return performance.getEntriesByType('resource').length"
    let before = try await browser.run(count).integer
    _ = try await visit.daemon.submit(#"{"type": "noop", "id": "unseen, too"}"#)
    #expect(try await browser.run("return document.getElementById('link').dataset.state").string == "asleep")
    #expect(try await browser.run(count).integer == before)
    try await browser.run("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    try await browser.wait(for: "document.querySelector('.tile.state-completed .value').textContent === '2'")
    try await visit.end()
  }
}
