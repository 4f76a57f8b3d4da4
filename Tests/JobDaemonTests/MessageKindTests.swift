import Foundation
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("The catalogue of messages")
struct MessageKindTests {
  private static let catalogue = RepositoryPaths.root.appending(path: "systemd/bobbin.catalog")

  @Test("Every kind of message is explained, and nothing else is; the journal takes the file as it is")
  func catalogue() async throws {
    let text = try String(contentsOf: Self.catalogue, encoding: .utf8)
    let explained = text.split(separator: "\n").filter { $0.hasPrefix("-- ") }.map { String($0.dropFirst(3)) }
    #expect(explained.sorted() == MessageKind.allCases.map(\.rawValue).sorted())
    let folder = try TemporaryDirectory()
    let place = folder.path("usr/lib/systemd/catalog")
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      atPath: Self.catalogue.path(percentEncoded: false), toPath: place + "/bobbin.catalog")
    let update = try await Tool.run("/usr/bin/journalctl", ["--update-catalog", "--root=\(folder.path)"])
    #expect(update.code == 0 && update.errors.isEmpty, "\(update.errors)")
    let list = try await Tool.run("/usr/bin/journalctl", ["--list-catalog", "--root=\(folder.path)"])
    for id in explained { #expect(list.output.contains("\(id) bobbind: ")) }
  }

  @Test("No message has an ID that is not among the kinds, and each kind has a message")
  func sources() throws {
    var text = ""
    let kinds = "MessageKind.swift"
    for folder in ["Sources/JobDaemon", "Sources/BobbinDaemon"] {
      let root = RepositoryPaths.root.appending(path: folder)
      let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
      for case let file as URL in try #require(files) where file.pathExtension == "swift" {
        if file.lastPathComponent != kinds { text += try String(contentsOf: file, encoding: .utf8) }
      }
    }
    #expect(text.firstMatch(of: /"[0-9a-f]{32}"/) == nil)
    for kind in MessageKind.allCases {
      let name = "\(kind)"
      #expect(text.contains("as: .\(name)") || text.contains(": .\(name)\n"), "\(name)")
    }
  }
}
