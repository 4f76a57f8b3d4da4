import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// What a job's own page tells, and those of its batch.
extension PageTests {
  private static let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  @Test("A job's page tells how far it is and how long it takes, its trace, and then its result")
  func progress() async throws {
    try root.declare(
      "printing",
      #"""
      printf '%s\n' '{"progress": {"done": 3, "total": 10, "unit": "pages", "message": "page 3"}}'
      while [ ! -e go ]; do sleep 0.05; done
      printf '%s\n' '{"result": {"pages": 10}}'
      """#)
    let visit = try await browse("jobs/paper")
    let browser = visit.browser
    try await browser.wait(forText: "there is no job")
    _ = try await visit.daemon.request(
      "POST", "/v1/jobs", body: #"{"type": "printing", "id": "paper", "traceparent": "\#(Self.trace)"}"#)
    for view in ["jobs/paper", "jobs", "overview"] {
      try await visit.go(view)
      try await browser.wait(for: "document.querySelector('progress')?.value === 0.3")
      try await browser.wait(
        for: "/^30 % · .* pages\\/s · .* left$/.test(document.querySelector('.progress .figures').textContent)")
      try await browser.wait(for: "document.querySelector('.progress .message').textContent === 'page 3'")
    }
    try await visit.go("jobs/paper")
    try await browser.wait(forText: Self.trace)
    try root.payload("go", "")
    try await browser.wait(for: "document.querySelector('h1 .state-completed')")
    try await browser.wait(
      for: "[...document.querySelectorAll('pre.code')].some(one => one.textContent.includes('\"pages\": 10'))")
    try await visit.end()
  }

  @Test("Rejects are a table, of which more is shown on request, up to a number")
  func rejects() async throws {
    try root.payload("bad.csv", "job,number\n" + (1...10_050).map { "j\($0),none\n" }.joined())
    let visit = try await browse("configuration")
    let browser = visit.browser
    _ = try await visit.daemon.submit(
      #"{"type": "import", "id": "bad", "arguments": {"input": "bad.csv", "entity": "Reading", "maxRejects": 20000}}"#)
    try await visit.go("jobs/bad")
    let place = "document.querySelectorAll('[aria-label=\"Rejected records\"] tbody tr')"
    for number in [100, 1_000] {
      try await browser.wait(for: "\(place).length === \(number)")
      try await browser.click(button: "Show more")
    }
    try await browser.wait(for: "\(place).length === 10000")
    #expect(try await browser.run("return \(place)[9].innerText").string?.contains("is not a whole number") == true)
    try await browser.wait(forText: "bobbinctl rejects bad")
    #expect(try await browser.run("return document.body.innerText.includes('Show more')").bool == false)
    try await visit.end()
  }

  @Test("The pictures that a job has kept are shown with it, and no others; where they can't be, the rest of it is")
  func pictures() async throws {
    try root.payload("in.jpg", try await TestPicture.jpeg())
    let visit = try await browse("configuration")
    let browser = visit.browser
    let jobs = ["one", "two"].map {
      #"""
      {"type": "image.encode", "id": "\#($0)", "arguments": {"input": "in.jpg",
        "outputs": [{"format": "png", "width": 40, "store": {"title": "same"}}]}}
      """#
    }
    let done = try await visit.daemon.submit(#"{"jobs": [\#(jobs.joined(separator: ","))]}"#)
    #expect(done.allSatisfy { $0["state"] == "completed" }, "\(done)")
    for id in ["one", "two"] {
      try await visit.go("jobs/\(id)")
      try await browser.wait(for: "document.querySelector('h1').innerText.includes('\(id)')")
      try await browser.wait(
        for:
          "document.querySelector('.thumbnails img')?.complete && document.querySelector('.thumbnails img').naturalWidth === 40"
      )
      #expect(try await browser.run("return document.querySelectorAll('.thumbnails li').length") == 1)
      let object = try await visit.daemon.get("/v1/jobs/\(id)")["result"]?["outputs"]?.array?.first?["object"]
      #expect(object?["entity"] == "Image")
      let key = try await browser.run("return document.querySelector('.thumbnails li').dataset.key").string
      #expect(object?["id"]?.string == key)
    }
    // One that is large is loaded when somebody wants it. Its address is written otherwise, as what was loaded is kept.
    try await browser.run(
      """
      window.real = fetch
      window.fetch = async (path, options) => {
        const response = await real(path, options)
        return !path.includes('/objects/Image/') ? response
          : new Response((await response.text()).replace(/"bytes":\\d+/, '"bytes":5000000').replace('/data"', '/%64ata"'), response)
      }
      """)
    try await visit.go("jobs/one")
    try await browser.click(button: "Show 4.77 MiB")
    try await browser.wait(for: "document.querySelector('.thumbnails img')?.naturalWidth === 40")
    try await browser.run(
      """
      window.fetch = (path, options) => !path.includes('/objects/') ? real(path, options)
        : Promise.resolve(new Response('{"error": {"code": "forbidden", "message": "no objects for you"}}',
          {status: 403, headers: {'Content-Type': 'application/json'}}))
      """)
    try await visit.go("jobs/two")
    try await browser.wait(forText: "They can’t be shown: no objects for you")
    try await browser.wait(forText: "Timeline")
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
    // The tile and the badge tell of the same jobs.
    try await visit.go("overview")
    try await browser.wait(
      for: "document.querySelector('[aria-label=\"Jobs: In quarantine\"] .tile')?.innerText.includes('1')")
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

  @Test("A picture that can't be loaded, or is none, says why, and is loaded when it is asked for again")
  func lostPictures() async throws {
    try root.payload("in.jpg", try await TestPicture.jpeg())
    let visit = try await browse("configuration")
    let browser = visit.browser
    let done = try await visit.daemon.submit(
      #"""
      {"type": "image.encode", "id": "one", "arguments": {"input": "in.jpg", "outputs": [{"format": "png", "width": 40, "store": {}}]}}
      """#)
    #expect(done.first?["state"] == "completed", "\(done)")
    try await browser.run(
      """
      const real = fetch
      window.replies = [
        new Response('{"error": {"code": "busy", "message": "too many ask"}}', {status: 503, headers: {'Content-Type': 'application/json'}}),
        new Response('no picture', {headers: {'Content-Type': 'text/plain'}}),
      ]
      window.fetch = async (path, options) => path.endsWith('/data') && replies.shift() || real(path, options)
      """)
    try await visit.go("jobs/one")
    try await browser.wait(forText: "It can’t be loaded: too many ask")
    try await browser.click(button: "Try again", in: ".thumbnails")
    try await browser.wait(forText: "It is none that this browser can show.")
    try await browser.click(button: "Try again", in: ".thumbnails")
    try await browser.wait(for: "document.querySelector('.thumbnails img')?.naturalWidth === 40")
    try await visit.end()
  }

  @Test(
    "The history of a schedule is a bar for each firing: how long its jobs took, how they ended, and which they are")
  func history() async throws {
    try root.declare(
      "varying",
      """
      number=$(cat number 2>/dev/null || echo 0)
      echo $((number + 1)) > number
      case $number in 1) exit 1 ;; 2) sleep 5 ;; esac
      """, "MaxAttempts=1")
    try root.write("[Schedule]\nEvery=1d\nJob=vary.json\n", to: root.paths.configuration + "/schedules.d/vary.conf")
    try root.write(#"{"type": "varying"}"#, to: root.paths.configuration + "/schedules.d/vary.json")
    let visit = try await browse("schedules")
    let browser = visit.browser
    try await browser.wait(forText: "none yet")
    for (number, state) in ["completed", "discarded", "completed"].enumerated() {
      try await browser.click("button[aria-label='Run vary now']")
      try await browser.wait(
        for:
          "document.querySelectorAll('.bars li')[\(number)]?.querySelector('a > span').className === 'state-\(state)'")
    }
    let bars = "[...document.querySelectorAll('.bars a')]"
    let heights =
      try await browser.run(
        "return \(bars).map(one => one.firstChild.getBoundingClientRect().height)"
      ).array?.compactMap(\.number) ?? []
    #expect(heights.count == 3 && heights[2] > heights[0] && heights[2] > heights[1], "\(heights)")
    #expect(try await browser.run("return /: 1 discarded, took /.test(\(bars)[1].ariaLabel)").bool == true)
    #expect(try await browser.run("return \(bars).every(one => one.title === one.ariaLabel)").bool == true)
    try await browser.click(".bars li:nth-child(2) a")
    try await browser.wait(
      for: "document.querySelectorAll('tbody tr').length === 1 && document.querySelector('tbody .state-discarded')")
    try await visit.end()
  }
}
