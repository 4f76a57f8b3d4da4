import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// All that a job's own page tells, and what is done to queues.
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
    // One that is large is loaded when somebody wants it.
    try await browser.run(
      """
      window.real = fetch
      window.fetch = async (path, options) => {
        const response = await real(path, options)
        return !path.includes('/objects/Image/') ? response
          : new Response((await response.text()).replace(/"bytes":\\d+/, '"bytes":5000000').replace('/data"', '/data?large"'), response)
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

  @Test("A queue and a type are paused and resumed, each by its own button")
  func pauses() async throws {
    let visit = try await browse("queues")
    let browser = visit.browser
    _ = try await visit.daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "queue": "blue", "delay": "1h"}"#)
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
}
