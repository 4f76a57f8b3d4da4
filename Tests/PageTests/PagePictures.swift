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
    try root.payload("in.jpg", try await TestPicture.jpeg())
    try root.payload(
      "readings.csv", "job,number\n" + (1...120).map { "j\($0 % 3),\($0 % 40 == 0 ? "none" : "\($0)")\n" }.joined())
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
    let visit = try await browse()
    let (daemon, browser) = (visit.daemon, visit.browser)
    var views = try await fill(daemon)
    _ = try await daemon.submit(
      #"""
      {"jobs": [{"type": "image.encode", "id": "cover", "arguments": {"input": "in.jpg",
          "outputs": [{"format": "png", "width": 90, "store": {"title": "Cover"}}, {"format": "webp", "width": 40, "store": {}}]}},
        {"type": "import", "id": "readings", "arguments": {"input": "readings.csv", "entity": "Reading", "maxRejects": 10}}]}
      """#)
    _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "printing", "id": "paper"}"#)
    views += [
      "jobs/cover", "jobs/readings", "jobs/paper", "jobs/crash", "objects/Reading", "objects/Image",
      "jobs?state=running&queue=default",
    ]
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
