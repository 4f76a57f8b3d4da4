import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// Pictures of every view, for people to look at; in the folder that `BOBBIN_PAGE_PICTURES` names.
extension PageTests {
  static let pictureFolder = ProcessInfo.processInfo.environment["BOBBIN_PAGE_PICTURES"]

  @Test(
    "Every view is put into a folder as pictures, in both themes and three widths", .enabled(if: pictureFolder != nil))
  func pictureBook() async throws {
    let folder = try #require(Self.pictureFolder)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let visit = try await browse()
    let browser = visit.browser
    let views = try await fill(visit.daemon)
    for (width, isDark) in [360, 1280, 2560].flatMap({ [($0, false), ($0, true)] }) {
      try await browser.set(width: width, isDark: isDark, movesLess: true)
      for view in views {
        try await visit.go(view)
        try await browser.wait(for: "document.querySelector('main[aria-busy=false] h1')")
        let height =
          try await browser.run("return Math.min(4000, document.documentElement.scrollHeight)").integer ?? 900
        let picture = try await browser.command(
          "Page.captureScreenshot",
          #"{"captureBeyondViewport": true, "clip": {"x": 0, "y": 0, "width": \#(width), "height": \#(height), "scale": 1}}"#
        )
        let data = try #require(picture["data"]?.string.flatMap { Data(base64Encoded: $0) })
        let name = view.map { $0.isLetter || $0.isNumber ? $0 : "-" }
        try data.write(to: URL(filePath: "\(folder)/\(String(name))-\(width)-\(isDark ? "dark" : "light").png"))
      }
    }
    try root.payload("go", "")
    try await visit.end()
  }
}
