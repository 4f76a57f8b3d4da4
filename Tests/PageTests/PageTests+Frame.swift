import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// The overview's plots, and what the page does about new tokens and requests that fail.
extension PageTests {
  @Test("Throughput, waiting and depth are plotted, without the span that is not over, and told where the pointer is")
  func plots() async throws {
    let visit = try await browse("configuration")
    let (daemon, browser) = (visit.daemon, visit.browser)
    try await browser.wait(forText: "FlushIntervalSec")
    // A hundred seconds that nobody has to wait for.
    try await browser.run(
      """
      const real = fetch
      const column = make => Array.from({length: 10}, (_, index) => make(index))
      window.fetch = (path, options) => !path.startsWith('/v1/samples') ? real(path, options)
        : Promise.resolve(new Response(JSON.stringify({
          stepSeconds: 10, start: new Date(Date.now() - 95_000).toISOString(), samples: {
            completed: column(index => index * 10), discarded: column(() => 0), quarantined: column(() => 0),
            cancelled: column(() => 20), available: column(index => index), waitingP50: column(() => 1500), waitingP95: column(() => 2500)}}),
          {headers: {'Content-Type': 'application/json'}}))
      """)
    try await visit.go("overview")
    try await browser.wait(for: "document.querySelectorAll('figure.plot polyline').length === 6")
    let points = "return [...document.querySelectorAll('polyline')].map(one => one.points.numberOfItems).join()"
    #expect(try await browser.run(points) == "9,9,9,10,10,10")
    let figures = "document.querySelector('figure.plot .figures').textContent"
    #expect(try await browser.run("return \(figures)") == "completed 8/scancelled 2/sfailed 0/s")
    func point(at share: Double) async throws {
      try await browser.run(
        """
        const frame = document.querySelector('figure.plot .frame')
        const box = frame.getBoundingClientRect()
        frame.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + box.width * \(share)}))
        """)
    }
    try await point(at: 0.0)
    try await browser.wait(for: "\(figures).endsWith(': completed 0/s, cancelled 2/s, failed 0/s')")
    // What is drawn anew stays where the pointer is, and goes on with it.
    _ = try await daemon.submit(#"{"type": "noop"}"#)
    try await browser.wait(for: "document.querySelector('.tile.state-completed .value').textContent === '1'")
    #expect(
      try await browser.run("return \(figures)").string?.hasSuffix(": completed 0/s, cancelled 2/s, failed 0/s") == true
    )
    try await point(at: 0.34)
    try await browser.wait(for: "\(figures).endsWith(': completed 3/s, cancelled 2/s, failed 0/s')")
    try await browser.run(
      "document.querySelector('figure.plot .frame').dispatchEvent(new PointerEvent('pointerleave'))")
    try await browser.wait(for: "\(figures) === 'completed 8/scancelled 2/sfailed 0/s'")
    try await browser.wait(
      for: "document.querySelector('.tile.state-completed').innerText.includes('since the start')")
    try await visit.end()
  }

  @Test("Another token brings its own role, without the page being loaded again")
  func otherToken() async throws {
    try root.configure(DaemonRoot.quickFlushes + "[Status]\nListen=127.0.0.1:0\n")
    let (reader, controller) = try await (AccessByToken("dash", "read"), AccessByToken("ops", "control"))
    try root.write(reader.line + "\n", to: root.paths.tokens)
    let daemon = try await DaemonProcess.ready(root)
    let browser = try await Browser.start()
    try await browser.open("http://127.0.0.1:\(try daemon.tcpPort())/")
    try await browser.click("dialog #token")
    try await browser.type(reader.secret + Browser.Key.enter)
    try await browser.wait(forText: "0 of")
    let hasButton = "[...document.querySelectorAll('button')].some(one => one.textContent === 'Pause all')"
    #expect(try await browser.run("return \(hasButton)").bool == false)
    try root.write(controller.line + "\n", to: root.paths.tokens)
    try await daemon.reload()
    try await browser.run("location.hash = '#/queues'")
    try await browser.wait(forText: "This token is not known.")
    try await browser.click("dialog #token")
    try await browser.type(controller.secret + Browser.Key.enter)
    try await browser.wait(for: hasButton)
    try await browser.end()
    #expect(try await daemon.stop() == .exited(code: 0))
  }

  @Test("A view whose code did not come, and a role that was not told, come when the daemon answers again")
  func lateCode() async throws {
    let visit = try await browse("configuration")
    let (daemon, browser) = (visit.daemon, visit.browser)
    try await browser.wait(forText: "FlushIntervalSec")
    func block(_ paths: String...) async throws {
      try await browser.command(
        "Network.setBlockedURLs", #"{"urls": [\#(paths.map { "\"*\($0)*\"" }.joined(separator: ","))]}"#)
    }
    try await browser.command("Network.enable")
    try await block("/page/queues.js", "/v1/whoami")
    try await browser.open(visit.address.base + "?again#/queues")
    try await browser.wait(for: "document.querySelector('main .problem')")
    try await browser.wait(for: "document.getElementById('link').dataset.state === 'live'")
    try await block()
    _ = try await daemon.submit(#"{"type": "noop"}"#)
    try await browser.wait(forText: "No queue has unfinished jobs")
    try await browser.wait(for: "[...document.querySelectorAll('button')].some(one => one.textContent === 'Pause all')")
    // The browser tells of what was kept from it.
    _ = try await browser.complaints()
    try await visit.end()
  }
}
