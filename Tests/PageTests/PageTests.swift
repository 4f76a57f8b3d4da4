import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// The page in a real browser, on a real daemon; one browser at a time.
@Suite("The page in a browser", .serialized, .enabled(if: Browser.isInstalled()))
struct PageTests {
  let root: DaemonRoot

  /// More workers than there are jobs that wait for the test.
  static let configuration = DaemonRoot.quickFlushes + "[Workers]\nCount=4\n"

  init() throws {
    root = try DaemonRoot(Self.configuration)
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

  /// A daemon with something to show in every view; returns the addresses of the views.
  func fill(_ daemon: DaemonProcess) async throws -> [String] {
    try root.write("[Schedule]\nEvery=1h\nJob=tick.json\n", to: root.paths.configuration + "/schedules.d/tick.conf")
    try root.write(#"{"type": "noop"}"#, to: root.paths.configuration + "/schedules.d/tick.json")
    try root.declare("crashing", "echo last words >&2; kill -SEGV $$", "MaxAttempts=9")
    try root.declare(
      "printing",
      #"""
      printf '%s\n' '{"progress": {"done": 3, "total": 10, "unit": "pages", "message": "page 3"}}' 'warming up'
      while [ ! -e go ]; do sleep 0.05; done
      """#)
    try root.write(#"{"type": "noop"}"#, to: root.paths.configuration + "/any.json")
    try root.write(
      "[Folder]\nPath=\(root.directory.path("scans"))\nJob=\(root.paths.configuration)/any.json\n",
      to: root.paths.configuration + "/folders.d/scans.conf")
    try root.payload("in.jpg", try await TestPicture.jpeg())
    try root.payload(
      "readings.csv", "job,number\n" + (1...120).map { "j\($0 % 3),\($0 % 40 == 0 ? "none" : "\($0)")\n" }.joined())
    try await daemon.reload()
    #expect(try await daemon.request("POST", "/v1/schedules/tick/run").status == 200)
    _ = try await daemon.submit(
      #"""
      {"jobs": [{"type": "crashing", "id": "crash", "backoff": {"kind": "fixed", "base": "1ms"}}, {"type": "failing", "id": "bad"},
        {"type": "noop", "id": "first", "batch": "night"},
        {"type": "noop", "id": "a-name-that-has-no-place-on-a-narrow-page-whatever-one-does-about-it"},
        {"type": "image.encode", "id": "cover", "arguments": {"input": "in.jpg",
          "outputs": [{"format": "png", "width": 90, "store": {"title": "Cover"}}, {"format": "webp", "width": 40, "store": {}}]}},
        {"type": "import", "id": "readings", "arguments": {"input": "readings.csv", "entity": "Reading", "maxRejects": 10}}]}
      """#)
    _ = try await daemon.request(
      "POST", "/v1/jobs",
      body: #"""
        {"jobs": [{"type": "patient", "id": "slow", "batch": "night"}, {"type": "noop", "id": "pack", "batch": "night", "after": ["first", "slow"]},
          {"type": "noop", "id": "send", "batch": "night", "after": "pack"}, {"type": "printing", "id": "paper"}]}
        """#)
    return [
      "overview", "jobs", "jobs?state=running&queue=default", "jobs?type=none", "jobs/bad", "jobs/pack", "jobs/paper",
      "jobs/crash", "jobs/cover", "jobs/readings", "batches", "batches/night", "batches/none", "schedules", "queues",
      "objects", "objects/Reading", "objects/Image", "quarantine", "submit/failing", "submit/image.encode",
      "configuration", "nowhere",
    ]
  }
}
