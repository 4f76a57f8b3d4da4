import Foundation
import TestSupport
import Testing

@Suite("The code on the library's pages is what it says")
struct ArticleCodeTests {
  private static let articles = "Sources/ObjectGraph/ObjectGraph.docc/"
  /// Those whose code is not taken from the examples, which are compiled anyway.
  private static let pages = ["README.md"] + documents(articles).filter { !$0.hasSuffix("FiveDesigns.md") }

  @Test("Code in the articles and in the README compiles", arguments: pages)
  func compiling(_ page: String) async throws {
    let pieces = try pieces(on: page).filter { !$0.hasPrefix("// Does not compile") }
    if pieces.isEmpty { return }
    let errors = try await errors(in: pieces)
    #expect(errors == [])
  }

  @Test("Code of which an article says that it does not compile does not", arguments: pages)
  func notCompiling(_ page: String) async throws {
    for piece in try pieces(on: page) where piece.hasPrefix("// Does not compile") {
      let errors = try await errors(in: [piece])
      #expect(errors.contains { $0.contains("piece0.swift:") }, "this compiles:\n\(piece)")
    }
  }

  /// The pieces of Swift on a page; manifests are no part of a program.
  private func pieces(on page: String) throws -> [String] {
    try String(contentsOf: RepositoryPaths.root.appending(path: page), encoding: .utf8).components(separatedBy: "```")
      .filter { $0.hasPrefix("swift\n") }.map { String($0.dropFirst("swift\n".count)) }
      .filter { !$0.hasPrefix("// swift-tools-version") && !$0.hasPrefix("dependencies:") }
  }

  /// What a piece may count on besides the library: the model of an example, and values by their usual names.
  private func program(_ number: Int, _ piece: String) -> String {
    let lines = piece.split(separator: "\n", omittingEmptySubsequences: false)
    return """
      import BackgroundFetch
      import Foundation
      import ObjectGraph
      import ObjectGraphTesting
      import ObjectModel
      import SQLiteStore
      import Testing
      \(lines.filter { $0.hasPrefix("import ") }.joined(separator: "\n"))
      func piece\(number)(
        main: ManagedObjectContext, worker: ManagedObjectContext, background: ManagedObjectContext,
        writer: ManagedObjectContext, coordinator: PersistentStoreCoordinator, container: PersistentContainer,
        request: FetchRequest<Person>, ids: [ManagedObjectID], id: ManagedObjectID, folder: URL, url: URL,
        statements: StatementRecorder, faults: StoreFaults,
        version1: ManagedObjectModel, version2: ManagedObjectModel, version3: ManagedObjectModel
      ) async throws {
      \(lines.filter { !$0.hasPrefix("import ") }.joined(separator: "\n"))
      }
      """
  }

  /// The compiler's errors.
  private func errors(in pieces: [String]) async throws -> [String] {
    let folder = try TemporaryDirectory()
    var files: [String] = []
    for (number, piece) in pieces.enumerated() {
      let file = folder.path("piece\(number).swift")
      try program(number, piece).write(toFile: file, atomically: true, encoding: .utf8)
      files.append(file)
    }
    let modules = try RepositoryPaths.buildFolder().appending(path: "Modules").path(percentEncoded: false)
    let wrapped = ["CSQLite", "CLinux"].flatMap { ["-I", RepositoryPaths.root.appending(path: "Sources/\($0)").path] }
    // Whether values may leave their isolation is found out after type checking, hence more than -typecheck.
    let tool = try await Tool.run(
      "/usr/bin/env",
      ["swiftc", "-emit-sil", "-wmo", "-o", "/dev/null", "-module-name", "Pieces", "-swift-version", "6"]
        + ["-parse-as-library", "-I", modules] + wrapped + files,
      environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"])
    return (tool.output + tool.errors).split(separator: "\n").map(String.init).filter { $0.contains("error: ") }
  }

  private static func documents(_ folder: String) -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: RepositoryPaths.root.appending(path: folder).path)
    return (names ?? []).filter { $0.hasSuffix(".md") }.sorted().map { folder + $0 }
  }
}
