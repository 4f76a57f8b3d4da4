import DaemonTesting
import Foundation
import JSONText
import SystemSupport
import TestSupport
import Testing

/// Texts that would do harm if the page read HTML out of them.
extension PageTests {
  /// A text as it stands in a job file.
  private static let evil = #"<img src=x onerror=\"window.isHurt=1\"><script>window.isHurt=1</script>"#

  @Test("Texts of jobs stay texts, wherever they are shown")
  func injection() async throws {
    let visit = try await browse("jobs")
    let (daemon, browser) = (visit.daemon, visit.browser)
    let evil = Self.evil
    try root.declare("evil", "cat >&2; exit 1", "MaxAttempts=1")
    try root.declare("crashing", #"printf '%s\n' "$BOBBIN_JOB_ID" >&2; kill -SEGV $$"#, "MaxAttempts=9")
    try await daemon.reload()
    _ = try await daemon.submit(
      #"{"type": "evil", "id": "\#(evil)", "queue": "\#(evil)", "batch": "\#(evil)", "arguments": {"\#(evil)": "\#(evil)"}}"#
    )
    for view in ["jobs", "", "queues", "batches", "schedules"] {
      try await visit.go(view)
      try await browser.wait(for: "document.querySelector('h1')")
    }
    try await visit.go("jobs")
    try await browser.click("tbody a.mono")
    try await browser.wait(for: "document.querySelector('h1').innerText.includes('<script>')")
    try await browser.wait(for: "document.querySelector('pre.log').innerText.includes('<script>')")
    try await visit.expectNoHarm("a job's page")

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
      try await visit.expectNoHarm("\(view), \(place)")
    }
    // In the views of what jobs belong to, in the graph, and in what is asked and said before and after a command.
    _ = try await daemon.submit(
      #"{"type": "crashing", "id": "crash \#(evil)", "backoff": {"kind": "fixed", "base": "1ms"}}"#)
    _ = try await daemon.request(
      "POST", "/v1/jobs",
      body: #"""
        {"jobs": [{"type": "noop", "id": "\#(evil) later", "after": "telling", "queue": "\#(evil)", "batch": "\#(evil)"},
          {"type": "noop", "id": "last", "after": "\#(evil) later"}]}
        """#)
    let text = evil.replacing(#"\""#, with: "\"")
    let path = try #require(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
    for (view, place) in [
      ("overview", ".progress .message"), ("batches", "td a"), ("batches/\(path)", "h1"), ("batches/\(path)", "td a"),
      ("queues", "td a"), ("jobs?queue=\(path)", ".chip"), ("jobs?text=\(path)", "td a"), ("jobs/last", ".graph .name"),
      ("jobs/last", ".graph title"), ("jobs/last", ".reason"), ("quarantine", "h2 a"), ("quarantine", "pre.log"),
    ] {
      try await visit.go(view)
      try await browser.wait(
        for:
          "[...document.querySelectorAll(\(Browser.literal(place)))].some(one => one.textContent.includes('<img src=x'))"
      )
      try await visit.expectNoHarm("\(view), \(place)")
    }
    try await visit.go("jobs?batch=\(path)")
    try await browser.click("#filter")
    try await browser.type("queue:")
    try await browser.wait(for: "document.querySelector('[role=option]')?.textContent.includes('<img src=x')")
    try await visit.expectNoHarm("suggestions")
    try await browser.click("input[aria-label='Select all on this page']")
    try await browser.click("button[data-key=retry]")
    try await browser.wait(for: "document.querySelector('dialog .sample')?.textContent.includes('<img src=x')")
    try await visit.expectNoHarm("a question")
    try await browser.click("dialog button[type=submit]")
    try await browser.wait(
      for: "document.querySelector('dialog td')?.textContent.includes('<img src=x') || document.querySelector('.note')")
    try await visit.expectNoHarm("what became of each")
    try root.payload("go", "")
    try await visit.go("jobs/telling")
    try await browser.wait(
      for: "[...document.querySelectorAll('pre.code')].some(one => one.innerText.includes('<script>'))")
    try await visit.expectNoHarm("a result")
    try await visit.end()
  }

  @Test("Keys, places and traces of jobs stay texts, and so do reasons for which they wait, are stopped and have ended")
  func injectionByOptions() async throws {
    try root.declare(
      "stubborn", "trap '' TERM; : > begun; while [ ! -e go ]; do sleep 0.05; done", "KillGraceSec=10min")
    let visit = try await browse("jobs")
    let (daemon, browser) = (visit.daemon, visit.browser)
    let limit = #""limit": {"key": "key \#(Self.evil)", "concurrent": 1}"#
    // A tracestate has no "=" in its values.
    let trace = "<script>hurt()</script>"
    _ = try await daemon.request(
      "POST", "/v1/jobs",
      body: #"""
        {"type": "stubborn", "id": "first", \#(limit), "unique": "unique \#(Self.evil)", "tracestate": "v=\#(trace)",
          "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        """#)
    let begun = root.paths.payload + "/begun"
    try await daemon.wait { _ in FileManager.default.fileExists(atPath: begun) }
    _ = try await daemon.request(
      "POST", "/v1/jobs",
      body: #"""
        {"jobs": [{"type": "noop", "id": "second", \#(limit)},
          {"type": "noop", "id": "third", "place": "place \#(Self.evil)"}]}
        """#)
    /// Expects texts somewhere in what a selector finds in the view of a job.
    func expect(_ texts: String..., at selector: String, of job: String) async throws {
      try await visit.go("jobs/\(job)")
      for text in texts {
        let (selector, text) = (Browser.literal(selector), Browser.literal(text))
        try await browser.wait(
          for: """
            document.querySelector('h1').textContent.includes('\(job)')
              && [...document.querySelectorAll(\(selector))].some(one => one.textContent.includes(\(text)))
            """)
      }
      try await visit.expectNoHarm("\(job), \(selector)")
    }
    try await expect("unique <img src=x", "key <img src=x", "v=" + trace, at: "pre.code", of: "first")
    try await expect("key <img src=x", at: ".reason", of: "second")
    try await expect("place <img src=x", at: "pre.code", of: "third")
    try await expect("place <img src=x", at: ".reason", of: "third")
    _ = try await daemon.request(
      "POST", "/v1/commands", body: #"{"command": "cancel", "jobs": ["first"], "reason": "reason \#(Self.evil)"}"#)
    try await expect("reason <img src=x", at: "main:has(.state-running) .problem", of: "first")
    try root.payload("go", "")
    try await expect("reason <img src=x", at: "main:has(.state-cancelled) .problem", of: "first")
    try await visit.end()
  }
}

extension PageTests.Visit {
  /// Expects that no text of a job has become an element, or has run.
  fileprivate func expectNoHarm(_ place: String) async throws {
    #expect(try await browser.run("return window.isHurt ?? null") == .null, "\(place)")
    let elements = "return document.querySelectorAll('body :is(img[src=x], script)').length"
    #expect(try await browser.run(elements).integer == 0, "\(place)")
  }
}
