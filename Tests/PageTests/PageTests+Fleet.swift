import DaemonTesting
import Foundation
import JSONText
import PostgresTesting
import TestSupport
import Testing

/// Hosts that share a database.
extension PageTests {
  @Test(
    "The hosts of a fleet are shown with who leads and what each does, are drained by a button, and what no host gives is told",
    .enabled(if: PostgresCluster.isAvailable()))
  func hosts() async throws {
    let database = try PostgresCluster.makeDatabase()
    func configuration(_ name: String) -> String {
      DaemonRoot.quickFlushes + "[Store]\nUrl=\(database.url)\n[Fleet]\nName=\(name)\n[Workers]\nCount=2\n"
    }
    try root.configure(configuration("ash"))
    let visit = try await browse()
    let (daemon, browser) = (visit.daemon, visit.browser)
    let hosts = "[...document.querySelectorAll('[aria-label=\"Hosts of the fleet\"] tbody tr')]"
    try await browser.wait(for: "\(hosts).length === 1 && \(hosts)[0].innerText.includes('lead')")
    let other = try await DaemonProcess.ready(DaemonRoot(configuration("elm")))
    // What a fleet's hosts do is no event of this one; what happens here has the page ask.
    _ = try await daemon.submit(#"{"type": "noop"}"#)
    try await browser.wait(for: "\(hosts).length === 2")
    #expect(try await browser.run("return \(hosts).filter(one => one.innerText.includes('lead')).length") == 1)
    // That job may still be running when the page asks.
    #expect(try await browser.run("return \(hosts).every(one => /[01] of 2/.test(one.innerText))").bool == true)
    let elm = "\(hosts).find(one => one.innerText.startsWith('elm'))"
    try await browser.click("button[aria-label^='Drain the host elm']")
    try await browser.wait(for: "\(elm).querySelector('.state-held')?.textContent === 'drained'")
    try await browser.click("button[aria-label^='Undrain the host elm']")
    try await browser.wait(for: "!\(elm).querySelector('.state-held')")
    _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "id": "far", "place": "tape"}"#)
    try await browser.wait(forText: "1 job of the type noop: no host offers the place \"tape\"")
    #expect(try await other.stop() == .exited(code: 0))
    _ = try await daemon.submit(#"{"type": "noop"}"#)
    try await browser.wait(for: "\(elm).innerText.includes('gone')")
    try await visit.end()
  }
}
