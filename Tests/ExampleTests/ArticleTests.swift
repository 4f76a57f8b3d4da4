import Foundation
import TestSupport
import Testing

@Suite("The documentation shows code that runs")
struct ArticleTests {
  @Test("Each piece of code in the article on the five designs is taken from their examples")
  func fiveDesigns() throws {
    let article = RepositoryPaths.root.appending(path: "Sources/ObjectGraph/ObjectGraph.docc/FiveDesigns.md")
    let parts = try String(contentsOf: article, encoding: .utf8).components(separatedBy: "```")
    let pieces = parts.filter { $0.hasPrefix("swift\n") }.map { unindented($0.dropFirst("swift\n".count)) }
    #expect(pieces.count == 5)
    let examples = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
      .map { unindented(try String(contentsOf: folder.appending(path: $0), encoding: .utf8)) }
    for piece in pieces {
      #expect(examples.contains { $0.contains(piece) }, "no example has this code:\n\(piece)")
    }
  }

  private let folder = RepositoryPaths.root.appending(path: "Examples", directoryHint: .isDirectory)

  private func unindented(_ text: some StringProtocol) -> String {
    text.split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: "\n")
  }
}
