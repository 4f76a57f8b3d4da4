import Foundation
import TestSupport
import Testing

@Suite("The code on the library's pages is what it says", .serialized)
struct ArticleCodeTests {
  private static let articles = "Sources/ObjectGraph/ObjectGraph.docc/"
  /// Those whose code is not taken from the examples, which are compiled anyway.
  private static let pages =
    ["README.md", "Documentation/Library.md", "Documentation/SwiftHandlers.md"]
    + documents(articles).filter { !$0.hasSuffix("FiveDesigns.md") }

  @Test("Code in the articles and in the README compiles", arguments: pages)
  func compiling(_ page: String) async throws {
    let pieces = try pieces(on: page).filter { !$0.hasPrefix("// Does not compile") }
    #expect(try await errors(in: pieces) == [:])
  }

  @Test("Code of which an article says that it does not compile does not", arguments: pages)
  func notCompiling(_ page: String) async throws {
    let pieces = try pieces(on: page).filter { $0.hasPrefix("// Does not compile") }
    #expect(try await errors(in: pieces).count == pieces.count)
  }

  /// The pieces of Swift on a page; manifests are no part of a program.
  private func pieces(on page: String) throws -> [String] {
    try String(contentsOf: RepositoryPaths.root.appending(path: page), encoding: .utf8).components(separatedBy: "```")
      .filter { $0.hasPrefix("swift\n") }.map { String($0.dropFirst("swift\n".count)) }
      .filter {
        !$0.hasPrefix("// swift-tools-version") && !$0.hasPrefix("dependencies:") && !$0.hasPrefix("// Package.swift")
      }
  }

  /// What a piece may count on besides the library: the model of an example, and values by their usual names.
  private func program(_ number: Int, _ piece: String) -> String {
    let lines = piece.split(separator: "\n", omittingEmptySubsequences: false)
    return """
      @testable import BackgroundFetch
      import Foundation
      import ObjectGraph
      import ObjectGraphTesting
      import Testing
      \(lines.filter { $0.hasPrefix("import ") }.joined(separator: "\n"))
      func piece\(number)(
        main: ManagedObjectContext, worker: ManagedObjectContext, background: ManagedObjectContext,
        writer: ManagedObjectContext, coordinator: PersistentStoreCoordinator, container: PersistentContainer,
        request: FetchRequest<Person>, ids: [ManagedObjectID], id: ManagedObjectID, folder: URL, url: URL,
        statements: StatementRecorder, faults: StoreFaults, lastToken: PersistentHistoryToken?,
        version1: ManagedObjectModel, version2: ManagedObjectModel, version3: ManagedObjectModel
      ) async throws {
      \(lines.filter { !$0.hasPrefix("import ") }.joined(separator: "\n"))
      }
      """
  }

  /// The compiler's errors by the name of the piece.
  private func errors(in pieces: [String]) async throws -> [String: [String]] {
    let sources = pieces.enumerated().map { ("piece\($0.offset)", program($0.offset, $0.element)) }
    return try await Compiler.errors(in: Dictionary(uniqueKeysWithValues: sources), common: "")
  }

  private static func documents(_ folder: String) -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: RepositoryPaths.root.appending(path: folder).path)
    return (names ?? []).filter { $0.hasSuffix(".md") }.sorted().map { folder + $0 }
  }
}
