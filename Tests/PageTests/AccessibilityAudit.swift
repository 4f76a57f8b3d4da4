import Foundation
import JSONText
import TestSupport

/// The rules of axe for what everybody can read and use; https://github.com/dequelabs/axe-core
enum AccessibilityAudit {
  private static let path = ".build/page-tests/axe_playwright_python/axe.min.js"

  /// The script of axe; nil if it is not there, which is printed.
  static let script: String? = {
    let script = try? String(contentsOf: RepositoryPaths.root.appending(path: path), encoding: .utf8)
    _ = SkipReason("no \(path), so no audit; scripts/install-dependencies test installs it").unless(script != nil)
    return script
  }()

  /// What the rules find in the page as it is, each with the first element that breaks it.
  static func violations(_ browser: Browser, _ script: String) async throws -> [String] {
    if try await browser.run("return typeof axe").string != "object" { try await browser.run(script) }
    let result = try await browser.wait(
      for: """
        (() => {
          if (!window.audit) window.audit = axe.run(document).then(result => {
            window.auditResult = {passes: result.passes.length,
              violations: result.violations.map(one => `${one.id}: ${one.help}: ${one.nodes[0]?.html.slice(0, 200)}`)}
            document.body.dataset.audited = 'yes'
          })
          if (!window.auditResult) return null
          const result = window.auditResult
          delete document.body.dataset.audited
          window.audit = window.auditResult = null
          return result
        })()
        """)
    // Rules that find nothing to look at find nothing wrong either.
    guard (result["passes"]?.integer ?? 0) > 10 else { return ["hardly any rule applies"] }
    return result["violations"]?.array?.compactMap(\.string) ?? ["no answer"]
  }
}
