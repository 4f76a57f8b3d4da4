import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// Lists of jobs and of objects: what they have, and what completes their filters.
extension PageTests {
  @Test("A list goes on where the daemon answers with a part of a page, until the page is full")
  func shortPages() async throws {
    let visit = try await browse("configuration")
    let browser = visit.browser
    let jobs = (1...70).map { #"{"type": "noop", "id": "later-\#($0)", "delay": "1h"}"# }.joined(separator: ",")
    _ = try await visit.daemon.request("POST", "/v1/jobs", body: #"{"jobs": [\#(jobs)]}"#)
    try await browser.wait(forText: "FlushIntervalSec")
    // As the daemon does it where few of very many match.
    try await browser.run(
      "const real = fetch; window.fetch = (path, options) => real(path.replace(/limit=(\\d+)/, (_, limit) => 'limit=' + Math.min(limit, 7)), options)"
    )
    try await visit.go("jobs")
    let rows = "document.querySelectorAll('tbody tr').length"
    try await browser.wait(for: "\(rows) === 50")
    try await browser.click(button: "Older jobs")
    try await browser.wait(for: "\(rows) === 20")
    try await browser.wait(for: "![...document.querySelectorAll('a')].some(one => one.textContent === 'Older jobs')")
    try await visit.end()
  }

  @Test("All that match are no more than those that matched when they were selected")
  func selectionOfAll() async throws {
    let visit = try await browse("jobs?queue=blue")
    let browser = visit.browser
    let jobs = (1...70).map { #"{"type": "noop", "queue": "\#($0 <= 60 ? "blue" : "red")", "delay": "1h"}"# }
    _ = try await visit.daemon.request("POST", "/v1/jobs", body: #"{"jobs": [\#(jobs.joined(separator: ","))]}"#)
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 50")
    try await browser.click("input[aria-label='Select all on this page']")
    try await browser.click(button: "Select all 60 that match")
    try await browser.wait(
      for: "/^All .* that match$/.test(document.querySelector('.command-bar > span')?.textContent)")
    try await browser.click("button[aria-label='Remove the filter queue']")
    try await browser.wait(for: "document.querySelector('nav.pages')?.innerText.includes('70 jobs')")
    #expect(try await browser.run("return document.querySelectorAll('.command-bar, input:checked').length") == 0)
    try await visit.end()
  }

  @Test("Filters complete the arguments that jobs have, and predicates the paths and values that objects have")
  func completion() async throws {
    try root.write(
      TestModel.model(
        """
        <entity name="Person" representedClassName="Person">
          <attribute name="name" optional="YES" attributeType="String"/>
          <relationship name="department" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Department" \
        inverseName="people" inverseEntity="Department"/>
        </entity>
        <entity name="Department" representedClassName="Department">
          <attribute name="code" optional="YES" attributeType="String"/>
          <relationship name="people" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Person" \
        inverseName="department" inverseEntity="Person"/>
          <uniquenessConstraints><uniquenessConstraint><constraint value="code"/></uniquenessConstraint></uniquenessConstraints>
        </entity>
        """), to: root.paths.models + "/People.xcdatamodel/contents")
    try root.payload("people.csv", "Name,Department\nAda,engines\nGrace,compilers\n")
    let visit = try await browse("jobs")
    let browser = visit.browser
    let jobs = try await visit.daemon.submit(
      #"""
      {"jobs": [{"type": "failing", "id": "web", "arguments": {"preset": "webby", "many": [1]}},
        {"type": "import", "id": "people", "arguments": {"input": "people.csv", "entity": "Person", "columns": {"Name": "name",
          "Department": {"relationship": "department", "key": "code", "missing": "create"}}}}]}
      """#)
    #expect(jobs.last?["state"] == "completed", "\(jobs)")
    func offers(_ text: String) async throws {
      try await browser.wait(
        for: """
          [...document.querySelectorAll('[role=option] span:first-child')].some(one => one.textContent === \(Browser.literal(text)))
          """)
    }
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 2")
    try await browser.click("#filter")
    try await browser.type("argument.pre")
    try await offers("argument.preset:")
    try await browser.type(Browser.Key.down + Browser.Key.enter)
    try await offers("webby")
    try await browser.type(Browser.Key.down + Browser.Key.enter)
    try await browser.wait(for: "location.hash === '#/jobs?argument.preset=webby'")
    try await visit.go("objects/Person")
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 2")
    try await browser.click("#predicate")
    try await browser.type("dep")
    try await offers("department.")
    try await browser.type(Browser.Key.down + Browser.Key.enter)
    try await offers("department.code")
    try await browser.type(Browser.Key.down + Browser.Key.enter + "==" + Browser.Key.space)
    try await offers(#""engines""#)
    try await browser.type("\"eng" + Browser.Key.down + Browser.Key.enter + "OR name == ")
    try await offers(#""Ada""#)
    try await browser.type(Browser.Key.down + Browser.Key.enter + Browser.Key.enter)
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 1")
    #expect(
      try await browser.run("return document.getElementById('predicate').value").string
        == #"department.code == "engines" OR name == "Ada""#)
    // What is typed after a choice of the order keeps the order.
    try await browser.click(button: "name", in: "thead")
    try await browser.wait(for: "location.hash.includes('sort=name')")
    try await browser.click("#predicate")
    try await browser.type(Browser.Key.end + " OR TRUEPREDICATE" + Browser.Key.enter)
    try await browser.wait(
      for: "document.querySelectorAll('tbody tr').length === 2 && location.hash.includes('sort=name')")
    try await visit.end()
  }

  @Test(
    "Objects are shown while they are counted, or can't be, and are saved as CSV and NDJSON; long numbers are exact")
  func objectsWithoutCount() async throws {
    try root.payload("long.csv", "job,number\nlong,9007199254740993\n")
    let visit = try await browse("configuration")
    let browser = visit.browser
    let jobs = try await visit.daemon.submit(TestModel.importJob("long", "long.csv"))
    #expect(jobs.first?["state"] == "completed", "\(jobs)")
    try await browser.run(
      """
      const real = fetch
      window.fetch = (path, options) => !path.includes('count=true') ? real(path, options)
        : Promise.resolve(new Response('{"error": {"code": "too-slow", "message": "it took too long"}}',
          {status: 422, headers: {'Content-Type': 'application/json'}}))
      URL.createObjectURL = blob => { window.saved = blob.text(); return 'about:blank#saved' }
      HTMLAnchorElement.prototype.click = function () { document.body.dataset.saved = this.download }
      """)
    try await visit.go("objects/Reading")
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 1")
    try await browser.wait(forText: "not counted: it took too long")
    try await browser.wait(forText: "9007199254740993")
    for (form, text) in [("CSV", "9007199254740993"), ("NDJSON", #""number":9007199254740993"#)] {
      try await browser.click(button: form)
      try await browser.wait(for: "document.body.dataset.saved === 'Reading.\(form.lowercased())'")
      #expect(try await browser.run("return window.saved").string?.contains(text) == true)
    }
    _ = try await visit.daemon.submit(
      #"{"type": "failing", "id": "long-one", "arguments": {"number": 9007199254740993}}"#)
    try await visit.go("jobs/long-one")
    try await browser.wait(forText: "\"number\": 9007199254740993")
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

  @Test("Counts that are only known to be no less are shown as such")
  func lowerBounds() async throws {
    let visit = try await browse("configuration")
    let browser = visit.browser
    let jobs = (1...60).map { #"{"type": "noop", "id": "later-\#($0)", "batch": "many", "delay": "1h"}"# }
    _ = try await visit.daemon.request("POST", "/v1/jobs", body: #"{"jobs": [\#(jobs.joined(separator: ","))]}"#)
    _ = try await visit.daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "id": "last", "after": "later-1"}"#)
    try await browser.wait(forText: "FlushIntervalSec")
    // As the daemon answers where there are very many.
    try await browser.run(
      #"""
      const real = fetch
      window.fetch = async (path, options) => {
        const response = await real(path, options)
        return !/^\/v1\/(jobs|batches)/.test(path) ? response
          : new Response((await response.text()).replace(/"(atLeast|countsAtLeast|mayHaveMore)":false/g, '"$1":true'), response)
      }
      """#)
    try await visit.go("jobs")
    try await browser.wait(for: "document.querySelector('nav.pages').innerText.includes('at least 61 jobs')")
    try await browser.wait(for: "document.querySelector('.tabs .state-scheduled .number').innerText === '≥ 60'")
    try await browser.click("input[aria-label='Select all on this page']")
    try await browser.click(button: "Select all that match")
    try await browser.wait(forText: "All at least 61 jobs that match")
    try await visit.go("batches")
    try await browser.wait(forText: "at least 60 jobs of 60 left")
    try await browser.wait(
      for: "document.querySelector('tr[data-key=many] .figures').innerText === 'at least 60 scheduled'")
    try await visit.go("batches/many")
    try await browser.wait(for: "document.querySelector('.lead')?.innerText === 'at least 60 jobs of 60 left'")
    try await visit.go("jobs/last")
    try await browser.wait(forText: "There may be more jobs that wait for each other than these.")
    try await visit.end()
  }
}
