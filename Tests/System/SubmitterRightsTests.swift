import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("A job may do with files what its submitter may", .enabled(if: SkipReason.runsAsRoot()))
  struct SubmitterRights {
    private static let ann: UInt32 = 4001
    private static let bob: UInt32 = 4002

    /// As whom the daemon runs.
    enum Identity: String, CaseIterable {
      case root, unprivileged

      var wrapper: [String] {
        self == .root ? [] : ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
      }
    }

    private let root: DaemonRoot

    init() throws {
      root = try DaemonRoot()
      try #require(chmod(root.directory.path, 0o755) == 0)
      try #require(chmod(root.paths.payload, 0o1777) == 0)
    }

    private func start(_ identity: Identity) async throws -> DaemonProcess {
      if identity == .unprivileged {
        let tool = try await Tool.run("/usr/bin/chown", ["-R", "65534:65534", root.directory.path])
        try #require(tool.code == 0, "\(tool.errors)")
      }
      return try await DaemonProcess.ready(root, wrapper: identity.wrapper)
    }

    private func drop(_ text: String, as name: String, owner: UInt32) throws {
      let hidden = root.paths.spoolNew + "/.hidden"
      try root.write(text, to: hidden)
      try #require(chown(hidden, owner, owner) == 0 && chmod(hidden, 0o644) == 0)
      try #require(rename(hidden, root.paths.spoolNew + "/" + name) == 0)
    }

    private func make(_ path: String, _ data: Data, owner: UInt32, mode: mode_t) throws {
      try root.write(data, to: path)
      try #require(chown(path, owner, owner) == 0 && chmod(path, mode) == 0)
    }

    @Test("An import reads its submitter's file, and nobody else's", arguments: Identity.allCases)
    func importing(identity: Identity) async throws {
      let daemon = try await start(identity)
      let table = Data("job,number\na,1\n".utf8)
      // The daemon itself may read both; as root it may read anything.
      try make(root.paths.payload + "/ann.csv", table, owner: Self.ann, mode: 0o644)
      let secret = root.paths.payload + "/bob.csv"
      try make(secret, table, owner: 65534, mode: 0o600)
      try drop(TestModel.importJob("good", "ann.csv"), as: "good.json", owner: Self.ann)
      try drop(TestModel.importJob("bad", "bob.csv"), as: "bad.json", owner: Self.ann)
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(
        try await root.sql("SELECT id, state, attempt FROM Job ORDER BY id") == "bad|discarded|1\ngood|completed|1")
      #expect(try await root.sql("SELECT count(*) FROM Reading") == "1")
      let reason = try root.reason("bad.json")
      #expect(
        reason.hasPrefix(
          "bad.json: bad: the input \(secret) can't be read: user 4001 may not read the file \(secret); give the right")
      )
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test(
      "A picture is written where its submitter may write, and nothing of another is replaced",
      arguments: Identity.allCases)
    func encoding(identity: Identity) async throws {
      let daemon = try await start(identity)
      let payload = root.paths.payload
      try make(payload + "/in.jpg", try await TestPicture.jpeg(), owner: Self.ann, mode: 0o644)
      try make(payload + "/bob.png", Data("bob's".utf8), owner: Self.bob, mode: 0o666)
      let closed = root.directory.path("closed")
      try #require(mkdir(closed, 0o755) == 0 && chown(closed, 65534, 65534) == 0)
      func job(_ id: String, _ path: String) -> String {
        """
        {"type": "image.encode", "id": "\(id)", "arguments": {"input": "in.jpg",
        "outputs": [{"path": "\(path)", "width": 8}]}}
        """
      }
      try drop(job("first", "out.png"), as: "first.json", owner: Self.ann)
      try await daemon.waitUntilSpoolIsEmpty()
      try drop(job("again", "out.png"), as: "again.json", owner: Self.ann)
      try drop(job("sticky", "bob.png"), as: "sticky.json", owner: Self.ann)
      try drop(job("closed", closed + "/out.png"), as: "closed.json", owner: Self.ann)
      try drop(job("other", "out.png"), as: "other.json", owner: Self.bob)
      try await daemon.waitUntilSpoolIsEmpty()
      let states = try await root.sql("SELECT id, state FROM Job ORDER BY id")
      #expect(states == "again|completed\nclosed|discarded\nfirst|completed\nother|discarded\nsticky|discarded")
      #expect(try TestPicture.isWholePNG(payload + "/out.png"))
      #expect(try String(contentsOfFile: payload + "/bob.png", encoding: .utf8) == "bob's")
      #expect(try Directory(path: closed).entries() == [])
      #expect(try root.reason("closed.json").contains("user 4001 may not write to the folder \(closed)"))
      #expect(try root.reason("sticky.json").contains("belongs to another user (4002)"))
      let status = try Directory(path: payload).status(of: "out.png")
      #expect(status.owner == (identity == .root ? Self.ann : 65534))
      #expect(try Directory(path: payload).entries().allSatisfy { !$0.isHidden })
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }
}
