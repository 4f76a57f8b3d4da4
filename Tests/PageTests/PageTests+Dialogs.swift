import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// Audits of what lies over a view for a while.
extension PageTests {
  /// Expects that everybody can read what the page shows now, in both themes.
  private func audit(_ browser: Browser, _ place: String) async throws {
    let script = try #require(AccessibilityAudit.script)
    for isDark in [false, true] {
      try await browser.set(width: 1280, isDark: isDark, movesLess: true)
      #expect(try await AccessibilityAudit.violations(browser, script) == [], "\(place), dark: \(isDark)")
    }
  }

  @Test(
    "The bar of a selection can be read by everybody, and so can the dialog of an edit with what is said of mistakes",
    .enabled(if: AccessibilityAudit.script != nil))
  func editAudit() async throws {
    try root.write(
      "[Handler]\nType=print\nExecStart=/bin/cat\nOptionalArguments=pages:integer\n",
      to: root.paths.handlers + "/print.conf")
    let visit = try await browse("jobs")
    let (daemon, browser) = (visit.daemon, visit.browser)
    _ = try await daemon.request(
      "POST", "/v1/jobs", body: #"{"type": "print", "id": "paper", "delay": "1h", "arguments": {"pages": 7}}"#)
    try await browser.click("input[aria-label='Select paper']")
    try await browser.wait(for: "document.querySelector('.command-bar button[data-key=hold]')")
    try await audit(browser, "the bar of a selection")
    try await visit.go("jobs/paper")
    try await browser.click("main button[data-key=edit]")
    try await browser.wait(for: "document.activeElement.closest('dialog')")
    try await audit(browser, "the dialog of an edit")
    /// Tries to save a text, and waits for what the alert has then.
    func save(_ text: String, alert selector: String) async throws {
      try await browser.run("document.getElementById('arguments').value = \(Browser.literal(text))")
      try await browser.click(button: "Save", in: "dialog")
      try await browser.wait(for: "document.querySelector('dialog [role=alert] \(selector)')")
    }
    try await save(#"{"pages": "many"}"#, alert: ".problem")
    try await audit(browser, "a refused edit")
    #expect(try await daemon.tool("edit", "paper", "pages=9").code == 0)
    try await save(#"{"pages": 10}"#, alert: "pre")
    try await audit(browser, "an edit that comes too late")
    try await visit.end()
  }

  @Test(
    "The question for a token can be read by everybody, also after a wrong one",
    .enabled(if: AccessibilityAudit.script != nil))
  func tokenAudit() async throws {
    try root.configure(Self.configuration + "[Status]\nListen=127.0.0.1:0\n")
    try root.write(try await AccessByToken("dash", "read").line + "\n", to: root.paths.tokens)
    let daemon = try await DaemonProcess.ready(root)
    let browser = try await Browser.start()
    try await browser.open("http://127.0.0.1:\(try daemon.tcpPort())/")
    try await browser.wait(for: "document.querySelector('dialog #token')")
    try await audit(browser, "the question for a token")
    try await browser.click("dialog #token")
    try await browser.type("bobbin_" + String(repeating: "x", count: 43) + Browser.Key.enter)
    try await browser.wait(forText: "This token is not known.")
    try await audit(browser, "the question after a wrong token")
    try await browser.end()
    #expect(try await daemon.stop() == .exited(code: 0))
  }
}
