import DaemonTesting
import Foundation
import JSONText
import SystemSupport
import TestSupport
import Testing

/// The overview's plots, and when the daemon is asked: again after a failure, at a pace, and not while nobody looks.
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
      for: "document.querySelector('section:has(> .tiles .state-completed)').innerText.includes('since the start')")
    try await visit.end()
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

  @Test(
    "A page outlives the daemon: it says that there is no connection, and is live by itself once another run answers",
    arguments: [false, true])
  func restart(isKilled: Bool) async throws {
    let visit = try await browse("jobs")
    let browser = visit.browser
    try await browser.run("window.isSame = true")
    func isCompleted(_ id: String) -> String { "document.querySelector('tr[data-key=\(id)] .state-completed')" }
    func isLinked(_ state: String, _ words: String) -> String {
      "document.querySelector('#link[data-state=\(state)]')?.textContent === '\(words)'"
    }
    _ = try await visit.daemon.submit(#"{"type": "noop", "id": "before"}"#)
    try await browser.wait(for: "\(isLinked("live", "live")) && \(isCompleted("before"))")
    if isKilled {
      try await visit.daemon.kill()
    } else {
      #expect(try await visit.daemon.stop() == .exited(code: 0))
    }
    try await browser.wait(for: isLinked("lost", "no connection"))
    // The list stays as it was.
    try await browser.wait(forText: "This is what it told last. The page goes on trying.")
    #expect(try await browser.run("return Boolean(\(isCompleted("before")))").bool == true)
    try root.drop(#"{"type": "noop", "id": "meanwhile"}"#, as: "meanwhile.json")

    let daemon = try await DaemonProcess.ready(root)
    try await browser.wait(for: isLinked("live", "live"))
    try await browser.wait(for: "\(isCompleted("meanwhile")) && !document.querySelector('main .problem')")
    _ = try await daemon.submit(#"{"type": "noop", "id": "after"}"#)
    try await browser.wait(for: isCompleted("after"))
    #expect(try await browser.run("return window.isSame").bool == true)
    // The browser tells of requests that nobody has answered, and of nothing else.
    let complaints = try await browser.complaints()
    #expect(complaints.allSatisfy { $0.contains("net::ERR_") }, "\(complaints)")
    try await Visit(daemon: daemon, address: visit.address, browser: browser).end()
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

  @Test("While jobs pass all the time, a list shows them as they change and is asked for seldom")
  func seldom() async throws {
    let visit = try await browse("jobs")
    let (daemon, browser) = (visit.daemon, visit.browser)
    _ = try await daemon.submit(#"{"type": "noop", "id": "first"}"#)
    try await browser.wait(forText: "first")
    try await browser.run(
      """
      const real = fetch
      window.asked = []
      window.fetch = (path, options) => {
        if (path.startsWith('/v1/jobs')) asked.push(performance.now())
        return real(path, options)
      }
      """)
    // Until the page has been busy with it for some seconds.
    var count = 0
    while try await browser.run("return (asked.at(-1) ?? 0) - (asked[0] ?? 0) < 6000").bool == true {
      _ = try await daemon.submit(#"{"type": "noop", "id": "job-\#(count)"}"#)
      count += 1
    }
    let rate = try await browser.run("return asked.length / (asked.at(-1) - asked[0]) * 1000")
    #expect((rate.number ?? 9) < 2, "\(rate) requests a second")
    // The last one shows soon all the same.
    try await browser.wait(forText: "job-\(count - 1)")
    try await visit.end()
  }

  @Test("A list that is long in coming is asked for again after a rest that is longer still, however much happens")
  func pace() async throws {
    let visit = try await browse("configuration")
    let (daemon, browser) = (visit.daemon, visit.browser)
    try await browser.wait(forText: "FlushIntervalSec")
    // As the daemon answers where it has looked at some of very many jobs, and found none.
    try await browser.run(
      """
      const real = fetch
      window.asked = []
      window.atOnce = window.most = 0
      window.fetch = async (path, options) => {
        if (!path.startsWith('/v1/jobs?text=')) return real(path, options)
        asked.push({time: performance.now(), isFirst: !path.includes('cursor=')})
        most = Math.max(most, atOnce += 1)
        await new Promise(done => setTimeout(done, 40))
        atOnce -= 1
        document.body.dataset.loads = asked.filter(one => one.isFirst).length
        return new Response('{"jobs": [], "next": "on", "count": 0, "atLeast": true}', {headers: {'Content-Type': 'application/json'}})
      }
      """)
    try await visit.go("jobs?text=needle")
    try await browser.wait(for: "document.body.dataset.loads === '1'")
    // Something happens all the time, until the list has been asked for again.
    while try await browser.run("return document.body.dataset.loads").string == "1" {
      _ = try await daemon.submit(#"{"type": "noop"}"#)
    }
    let rest = try await browser.run(
      """
      const again = asked.findLastIndex(one => one.isFirst)
      return asked[again].time - asked[again - 1].time
      """)
    #expect((rest.number ?? 0) > 3_000, "\(rest) ms")
    #expect(try await browser.run("return most") == 1)
    // What a reader asks for is not put off.
    try await browser.run("[window.before, window.loadsBefore] = [asked.length, +document.body.dataset.loads]")
    try await browser.click("#filter")
    try await browser.type("thread" + Browser.Key.enter)
    try await browser.wait(for: "location.hash.includes('thread') && +document.body.dataset.loads > loadsBefore")
    try await visit.end()
  }
}
