import DaemonTesting
import Foundation
import JSONText
import SystemSupport
import TestSupport
import Testing

/// Texts that would do harm if the page read HTML out of them.
extension PageTests {
  @Test("Texts of jobs stay texts, wherever they are shown")
  func injection() async throws {
    let visit = try await browse("jobs")
    let (daemon, browser) = (visit.daemon, visit.browser)
    let evil = #"<img src=x onerror=\"window.isHurt=1\"><script>window.isHurt=1</script>"#
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
    func expectNoHarm(_ place: String) async throws {
      #expect(try await browser.run("return window.isHurt ?? null") == .null, "\(place)")
      let elements = "return document.querySelectorAll('body :is(img[src=x], script)').length"
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
      try await expectNoHarm("\(view), \(place)")
    }
    try await visit.go("jobs?batch=\(path)")
    try await browser.click("#filter")
    try await browser.type("queue:")
    try await browser.wait(for: "document.querySelector('[role=option]')?.textContent.includes('<img src=x')")
    try await expectNoHarm("suggestions")
    try await browser.click("input[aria-label='Select all on this page']")
    try await browser.click("button[data-key=retry]")
    try await browser.wait(for: "document.querySelector('dialog .sample')?.textContent.includes('<img src=x')")
    try await expectNoHarm("a question")
    try await browser.click("dialog button[type=submit]")
    try await browser.wait(
      for: "document.querySelector('dialog td')?.textContent.includes('<img src=x') || document.querySelector('.note')")
    try await expectNoHarm("what became of each")
    try root.payload("go", "")
    try await visit.go("jobs/telling")
    try await browser.wait(
      for: "[...document.querySelectorAll('pre.code')].some(one => one.innerText.includes('<script>'))")
    try await expectNoHarm("a result")
    try await visit.end()
  }
}
