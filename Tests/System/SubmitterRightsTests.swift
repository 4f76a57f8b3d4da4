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

    // MARK: Attacks

    /// Runs a shell as a user who is a member of the spool's group.
    private func shell(_ user: UInt32, _ command: String) async throws -> Tool {
      try await Tool.run(
        "/usr/bin/setpriv",
        ["--reuid=\(user)", "--regid=\(user)", "--groups=\(Self.group)", "/bin/sh", "-c", "umask 002; \(command)"])
    }

    private static let group: UInt32 = 4100

    /// Makes the drop boxes those of a group, as an installed service has them.
    private func shareDropBoxes() throws {
      for path in [root.paths.spoolTemporary, root.paths.spoolNew] {
        try #require(chown(path, 0, Self.group) == 0 && chmod(path, 0o3730) == 0)
      }
    }

    @Test("A link that a stranger has planted where several may write leads no job of others astray")
    func plantedLink() async throws {
      let daemon = try await start(.root)
      let closed = root.directory.path("closed")
      try #require(mkdir(closed, 0o700) == 0 && chown(closed, Self.ann, Self.ann) == 0)
      try make(closed + "/private.jpg", try await TestPicture.jpeg(), owner: Self.ann, mode: 0o600)
      try make(closed + "/precious.png", Data("precious".utf8), owner: Self.ann, mode: 0o600)
      try make(root.paths.payload + "/in.jpg", try await TestPicture.jpeg(), owner: Self.ann, mode: 0o644)
      try #require(chmod(root.paths.payload, 0o777) == 0)
      let planted = try await shell(
        Self.bob, "cd \(root.paths.payload) && ln -s \(closed)/private.jpg incoming.jpg && ln -s \(closed) thumbs")
      try #require(planted.code == 0, "\(planted.errors)")
      func job(_ id: String, _ input: String, _ output: String) -> String {
        """
        {"type": "image.encode", "id": "\(id)", "arguments": {"input": "\(input)",
        "outputs": [{"path": "\(output)", "width": 8}]}}
        """
      }
      try drop(job("reading", "incoming.jpg", "shared-out.png"), as: "reading.json", owner: Self.ann)
      try drop(job("writing", "in.jpg", "thumbs/precious.png"), as: "writing.json", owner: Self.ann)
      try await daemon.waitUntilSpoolIsEmpty()
      for id in ["reading", "writing"] {
        #expect(try root.reason(FileName(id + ".json")).contains("belongs to another user"))
      }
      #expect(try String(contentsOfFile: closed + "/precious.png", encoding: .utf8) == "precious")
      #expect(try !Directory(path: root.paths.payload).contains("shared-out.png"))
    }

    @Test("With a umask of 002 a job is dropped as usual, and nobody else of the group can change it meanwhile")
    func sharedUmask() async throws {
      try shareDropBoxes()
      let daemon = try await start(.root)
      let spool = root.paths.spool
      // In the folder of the user's own, where the file is the group's to write, as its umask says.
      let home = root.directory.path("home")
      try #require(mkdir(home, 0o755) == 0 && chown(home, Self.ann, Self.ann) == 0)
      let written = try await shell(
        Self.ann, #"cd \#(home) && echo '{"type": "noop", "id": "anns"}' > job.json && cp job.json \#(spool)/tmp/"#)
      try #require(written.code == 0, "\(written.errors)")
      let changed = try await shell(Self.bob, #"echo '{"type": "noop", "id": "bobs"}' > \#(spool)/tmp/job.json"#)
      #expect(changed.code != 0 && changed.errors.contains("Permission denied"))
      let echoed = try await shell(
        Self.ann,
        """
        mv \(spool)/tmp/job.json \(spool)/new/ && \
        echo '{"type": "noop", "id": "echoed"}' > \(spool)/tmp/echoed && mv \(spool)/tmp/echoed \(spool)/new/ && \
        echo '{"type": "noop", "id": "direct"}' > \(spool)/new/direct && mv \(home)/job.json \(spool)/new/home.json
        """)
      #expect(echoed.code == 0, "\(echoed.errors)")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(
        try await root.sql("SELECT id, state, submitter FROM Job ORDER BY id")
          == "anns|completed|4001\ndirect|completed|4001\nechoed|completed|4001")
      #expect(try root.failedFiles == [])
    }

    @Test("Another user's file that a group may write to runs nothing with its owner's rights")
    func groupWritable() async throws {
      try shareDropBoxes()
      let daemon = try await start(.root)
      let shared = root.directory.path("shared")
      try #require(mkdir(shared, 0o770) == 0 && chown(shared, 0, Self.group) == 0 && chmod(shared, 0o2775) == 0)
      let made = try await shell(Self.ann, "touch \(shared)/notes")
      try #require(made.code == 0, "\(made.errors)")
      let attack = try await shell(
        Self.bob,
        #"cd \#(shared) && echo '{"type": "noop", "id": "as-ann"}' > notes && mv notes \#(root.paths.spoolNew)/a.json"#)
      try #require(attack.code == 0, "\(attack.errors)")
      try await daemon.wait { try $0.root.failedFiles.contains("a.json") }
      #expect(try root.reason("a.json").contains("others may write to it (mode 664)"))
      #expect(try await root.sql("SELECT count(*) FROM Job") == "0")
    }

    @Test("What a program wrote as the daemon's user is no job of that user, whoever moves it to new/")
    func programsFile() async throws {
      try shareDropBoxes()
      let mine = root.directory.path("bobs")
      try #require(mkdir(mine, 0o777) == 0 && chown(mine, Self.bob, Self.bob) == 0)
      try root.write(
        """
        [Handler]
        Type=write
        ExecStart=/bin/sh -c "echo '{\\"type\\": \\"noop\\", \\"id\\": \\"as-daemon\\"}' > \(mine)/text"

        """, to: root.paths.handlers + "/write.conf")
      let daemon = try await start(.root)
      try drop(#"{"type": "write", "id": "writing"}"#, as: "write.json", owner: Self.bob)
      try await daemon.waitUntilSpoolIsEmpty()
      for name in ["text.json", "submitted-0-1.json"] {
        let attack = try await shell(
          Self.bob, "cd \(mine) && [ -s text ] && mv text \(root.paths.spoolNew)/\(name)")
        try #require(attack.code == 0, "\(attack.errors)")
        try await daemon.wait { try $0.root.failedFiles.contains(FileName(name)) }
        #expect(try root.reason(FileName(name)).contains("belongs to the daemon's own user"))
        try Data("{}".utf8).write(to: URL(filePath: mine + "/text"))
      }
      #expect(try await root.sql("SELECT id FROM Job") == "writing")
    }

    @Test("An ID of another user's job is refused, over the socket and in a file, instead of being called completed")
    func foreignID() async throws {
      let daemon = try await DaemonProcess.ready(root, wrapper: try OtherUser.memberGroupWrapper(root))
      try drop(#"{"type": "noop", "id": "nightly"}"#, as: "first.json", owner: Self.bob)
      try await daemon.waitUntilSpoolIsEmpty()
      let path = try RepositoryPaths.executable("bobbinctl").path(percentEncoded: false)
      func submit(_ user: UInt32) async throws -> Tool {
        try await Tool.run(
          "/usr/bin/setpriv",
          [
            "--reuid=\(user)", "--regid=\(OtherUser.member.group)", "--clear-groups", path, "--root",
            root.directory.path, "submit", "-",
          ],
          input: #"{"type": "noop", "id": "nightly"}"#)
      }
      let anns = try await submit(Self.ann)
      #expect(anns.code != 0)
      #expect(anns.errors.contains(#"the ID "nightly" is that of another user's job; choose another one"#))
      #expect(try await submit(Self.bob).code == 0)
      try drop(#"{"type": "noop", "id": "nightly"}"#, as: "anns.json", owner: Self.ann)
      try drop(#"{"type": "noop", "id": "nightly"}"#, as: "again.json", owner: Self.bob)
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try root.failedFiles == ["anns.json", "anns.json.reason"])
      #expect(try await root.sql("SELECT id, submitter FROM Job") == "nightly|4002")
    }
  }
}
