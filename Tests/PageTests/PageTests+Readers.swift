import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// Who reads the page: with or without eyes, a pointer, a wide screen, or the right to change anything.
extension PageTests {
  @Test("Every view can be read by everybody, in both themes, from narrow to wide")
  func accessibility() async throws {
    let visit = try await browse()
    let browser = visit.browser
    let views = try await fill(visit.daemon)
    let script = AccessibilityAudit.script
    for (width, isDark) in [360, 1280, 2560].flatMap({ [($0, false), ($0, true)] }) {
      try await browser.set(width: width, isDark: isDark, movesLess: isDark)
      for view in views {
        try await visit.go(view)
        try await browser.wait(for: "document.querySelector('main[aria-busy=false] h1')")
        let place = "\(view) at \(width), dark: \(isDark)"
        // Only what is marked for it scrolls sideways.
        let overflow = try await browser.run("return document.documentElement.scrollWidth - innerWidth")
        #expect((overflow.integer ?? 1) <= 0, "\(place)")
        let scrolling = try await browser.run(
          """
          return [...document.querySelectorAll('.scroll')].filter(one => !one.querySelector('.grid'))
            .filter(one => one.scrollWidth > one.clientWidth).map(one => one.ariaLabel).join()
          """)
        #expect(scrolling == "", "\(place)")
        guard let script else { continue }
        let violations = try await AccessibilityAudit.violations(browser, script)
        #expect(violations == [], "\(place)")
      }
    }
    // A question, and what became of its answer.
    for isDark in [false, true] {
      try await browser.set(width: 1280, isDark: isDark, movesLess: true)
      try await visit.go("jobs?type=none")
      try await visit.go("jobs")
      try await browser.click("input[aria-label='Select all on this page']")
      try await browser.click("button[data-key=priority]")
      try await browser.wait(for: "document.activeElement.closest('dialog')")
      if let script {
        #expect(try await AccessibilityAudit.violations(browser, script) == [], "a question, dark: \(isDark)")
      }
      try await browser.click("dialog button[type=submit]")
      try await browser.wait(for: "document.querySelector('dialog td')")
      if let script {
        #expect(try await AccessibilityAudit.violations(browser, script) == [], "outcomes, dark: \(isDark)")
      }
      try await browser.click(button: "Close", in: "dialog")
    }
    try root.payload("go", "")
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
    try await browser.run("document.querySelector('button[data-key=hold]').focus()")
    try await browser.type(Browser.Key.enter)
    try await browser.wait(for: "document.activeElement.closest('dialog')")
    try await browser.type(Browser.Key.escape)
    try await browser.wait(
      for: "document.activeElement.dataset.key === 'hold' && !document.querySelector('dialog')")
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

  @Test(
    "What has the focus on the way back up does not lie under the header, nor under the bar of a selection",
    arguments: [(360, false), (360, true), (1280, false), (1280, true)])
  func focusInSight(width: Int, isSelected: Bool) async throws {
    let visit = try await browse("jobs", width: width)
    let browser = visit.browser
    let jobs = (1...50).map { #"{"type": "noop", "id": "later-\#($0)", "delay": "1h"}"# }.joined(separator: ",")
    _ = try await visit.daemon.request("POST", "/v1/jobs", body: #"{"jobs": [\#(jobs)]}"#)
    try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 50")
    if isSelected {
      try await browser.click("input[aria-label='Select later-50']")
      try await browser.wait(for: "document.querySelector('.command-bar')")
    }
    // The first that is in sight where the page ends.
    try await browser.run(
      """
      scrollTo(0, document.documentElement.scrollHeight)
      const links = [...document.querySelectorAll('tbody a.mono')]
      links.find(one => one.getBoundingClientRect().top > 200).focus()
      window.start = scrollY
      """)
    for _ in 0..<15 {
      try await browser.type(Browser.Key.tab, holding: Browser.Key.shift)
      let hidden = try await browser.run(
        """
        const one = document.activeElement
        const {top, bottom} = one.getBoundingClientRect()
        const bars = [...document.querySelectorAll('.top, .command-bar')].map(bar => bar.getBoundingClientRect().bottom)
        return one.closest('tbody') && top >= Math.max(...bars) && bottom <= innerHeight ? ''
          : `${one.outerHTML} from ${top} to ${bottom}, below bars down to ${bars}`
        """)
      #expect(hidden == "")
    }
    #expect(try await browser.run("return scrollY < start").bool == true, "the page had to scroll")
    try await visit.end()
  }

  @Test("A token is asked for over TCP and kept in memory only; whoever may only read sees no buttons")
  func tokens() async throws {
    try root.configure(Self.configuration + "[Status]\nListen=127.0.0.1:0\n")
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
    // Who has none now may give one later.
    try await browser.wait(for: "document.querySelector('dialog #token')")
    try await browser.click(button: "Cancel", in: "dialog")
    try await browser.click(button: "Enter a token")
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

  @Test("Another token brings its own role, without the page being loaded again")
  func otherToken() async throws {
    try root.configure(Self.configuration + "[Status]\nListen=127.0.0.1:0\n")
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

  @Test("Who may only read finds no button, box or form that changes anything, in any view")
  func readers() async throws {
    try root.configure(Self.configuration + "[Status]\nListen=127.0.0.1:0\n")
    let reader = try await AccessByToken("dash", "read")
    try root.write("\(reader.line)\n", to: root.paths.tokens)
    let daemon = try await DaemonProcess.ready(root)
    let views = try await fill(daemon)
    let browser = try await Browser.start()
    try await browser.open("http://127.0.0.1:\(try daemon.tcpPort())/")
    try await browser.click("dialog #token")
    try await browser.type(reader.secret + Browser.Key.enter)
    try await browser.wait(forText: "workers busy")
    for view in views where !view.hasPrefix("submit") {
      try await browser.run("location.hash = \(Browser.literal("#/" + view))")
      try await browser.wait(for: "document.querySelector('main[aria-busy=false] h1')")
      let found = try await browser.run(
        """
        return [...document.querySelectorAll('main :is(button, input, select, textarea, form, a[href="#/submit"])')]
          .filter(one => !['filter', 'predicate'].includes(one.id) && !['CSV', 'NDJSON'].includes(one.textContent))
          .filter(one => !one.closest('.chip') && !one.closest('label')?.textContent.includes('Only what differs'))
          .map(one => one.outerHTML).join()
        """)
      #expect(found == "", "\(view)")
      #expect(try await browser.run("return document.querySelectorAll('#views a[href=\"#/submit\"]').length") == 0)
    }
    try root.payload("go", "")
    try await browser.end()
    #expect(try await daemon.stop() == .exited(code: 0))
  }
}
