import Foundation
import SystemSupport
import TestSupport
import Testing

@testable import Jobs

@Suite("Inputs that came over the socket")
struct UploadedInputTests {
  @Test("They are open to jobs of the user who sent them, and to no others, by no other name")
  func users() throws {
    let folder = try TemporaryDirectory()
    let place = folder.path("uploads/1000-A")
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    for name in ["table", ".hidden"] { try Data("x".utf8).write(to: URL(filePath: "\(place)/\(name)")) }
    try FileManager.default.createSymbolicLink(atPath: place + "/link", withDestinationPath: "/etc/passwd")
    let uploads = UploadedInputs(folder.path("uploads"))
    func content(_ path: String, _ user: UInt32) throws -> Data? {
      guard let file = try uploads.open(path, for: user) else { return nil }
      return try file.readAll(limit: 100)
    }
    #expect(try content(place + "/table", 1000) == Data("x".utf8))
    #expect(try content(folder.path("uploadsx/1000-A/table"), 1000) == nil)
    #expect(throws: JobFailure.self) { try content(place + "/table", 1001) }
    for path in [
      "/.hidden", "/gone", "/link", "", "/", "/../1000-A/table", "//table",
    ] {
      #expect(throws: JobFailure.self, "\(path)") { try content(place + path, 1000) }
    }
    #expect(throws: JobFailure.self) { try content(folder.path("uploads/../uploads/1000-A/table"), 1000) }
  }
}
