import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("An output that would do harm")
  struct HarmfulOutputs {
    /// A place for an output, relative to `payload/`, and why it is refused.
    struct Place: Sendable, CustomTestStringConvertible {
      let path: String
      let reason: String
      var testDescription: String { path }

      init(_ path: String, _ reason: String) {
        self.path = path
        self.reason = reason
      }
    }

    static let places = [
      Place("../../state/bobbin.sqlite", "the folder is the daemon's own"),
      Place("link/bobbin.sqlite", "the folder is the daemon's own"),
      Place("../new/other.json", "the folder is the daemon's own"),
      Place("picture.jpg", "it is the input"),
      Place("folder", "something other than a file is there"),
      Place("fifo", "something other than a file is there"),
    ]

    @Test("It is refused before anything is written, and what is there stays", arguments: places)
    func refused(place: Place) async throws {
      let root = try DaemonRoot()
      let payload = root.paths.payload
      let picture = try await TestPicture.jpeg()
      try root.write(picture, to: payload + "/picture.jpg")
      try FileManager.default.createDirectory(atPath: payload + "/folder", withIntermediateDirectories: true)
      try #require(mkfifo(payload + "/fifo", 0o644) == 0)
      try #require(symlink(root.paths.state, payload + "/link") == 0)
      let daemon = try await DaemonProcess.ready(root)
      let job = """
        {"type": "image.encode", "id": "bad", "arguments": {"input": "picture.jpg", "outputs": [
        {"path": "first.png", "width": 8}, {"path": "\(place.path)", "format": "png", "width": 8}]}}
        """
      try root.drop(job, as: "bad.json")
      let reason = "bad: the output \(payload)/\(place.path) can't be written: \(place.reason)"
      try await daemon.expectOnlyGood(kept: "bad.json", reason: reason, isJob: true)
      let left = try Directory(path: payload).entries().sorted()
      #expect(left == ["fifo", "folder", "link", "picture.jpg"])
      #expect(try Data(contentsOf: URL(filePath: payload + "/picture.jpg")) == picture)
    }
  }
}
