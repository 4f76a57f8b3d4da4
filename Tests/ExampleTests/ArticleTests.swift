import Foundation
import TestSupport
import Testing

@Suite("The documentation shows code that runs, and files that exist")
struct ArticleTests {
  private let root = RepositoryPaths.root

  @Test("Each piece of code in the article on the five designs is taken from their examples")
  func fiveDesigns() throws {
    let parts = try text("Sources/ObjectGraph/ObjectGraph.docc/FiveDesigns.md").components(separatedBy: "```")
    let pieces = parts.filter { $0.hasPrefix("swift\n") }.map { unindented($0.dropFirst("swift\n".count)) }
    #expect(pieces.count == 5)
    let folder = root.appending(path: "Examples")
    let examples = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
      .map { unindented(try text("Examples/\($0)")) }
    for piece in pieces {
      #expect(examples.contains { $0.contains(piece) }, "no example has this code:\n\(piece)")
    }
  }

  @Test("Links between the pages, and the paths that they name, lead to files", arguments: pages)
  func links(_ page: String) throws {
    let text = try text(page)
    let here = root.appending(path: page).deletingLastPathComponent()
    for link in text.matches(of: /\]\(([^)#:]+)(?:#[^)]*)?\)/) {
      let target = String(link.1)
      #expect(exists(here.appending(path: target)), "\(page) links to \(target)")
    }
    for path in text.matches(of: /`((?:Sources|Tests|Examples|Documentation|scripts)\/[\w\/.-]+)`/) {
      #expect(exists(root.appending(path: String(path.1))), "\(page) names \(path.1)")
    }
  }

  private static let pages = ["README.md", "CONTRIBUTING.md"] + notes("Documentation") + notes("Documentation/Design")

  private static func notes(_ folder: String) -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: RepositoryPaths.root.appending(path: folder).path)
    return (names ?? []).filter { $0.hasSuffix(".md") }.sorted().map { folder + "/" + $0 }
  }

  private func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  private func exists(_ file: URL) -> Bool { FileManager.default.fileExists(atPath: file.standardizedFileURL.path) }

  private func unindented(_ text: some StringProtocol) -> String {
    text.split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: "\n")
  }
}
