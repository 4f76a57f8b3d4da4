import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("In the sandbox of a unit, errors name the setting that is in the way", .enabled(if: SkipReason.runsAsRoot()))
  struct SandboxTests {
    private let root: DaemonRoot
    private let daemon: DaemonProcess

    /// Starts a daemon for which /home is masked, /srv read-only and /var/tmp its own, as systemd mounts it.
    init() async throws {
      root = try DaemonRoot()
      try #require(chmod(root.directory.path, 0o755) == 0)
      let masks = try TemporaryDirectory()
      let script = """
        mkdir -p "$0/inaccessible/dir" "$0/systemd-private-test/tmp" && chmod 000 "$0/inaccessible/dir" &&
        mount --bind "$0/inaccessible/dir" /home && mount --bind "$0/systemd-private-test/tmp" /var/tmp &&
        mount --bind /srv /srv && mount -o remount,bind,ro /srv && exec "$@"
        """
      daemon = try await DaemonProcess.ready(
        root, wrapper: SeparateMounts.wrapper + ["/bin/sh", "-c", script, masks.path],
        environment: ["INVOCATION_ID": "17b4638f410c406ea94f65737f188426", "PATH": "/usr/bin:/bin"])
    }

    @Test(
      "A job says at once what hides its input, or keeps its output from being written, and waits at no attempt's cost")
    func jobs() async throws {
      try root.payload("in.jpg", try await TestPicture.jpeg())
      let jobs = [
        ("home", TestModel.importJob("home", "/home/anna/a.csv"), "hides /home from the daemon; ", "ProtectHome="),
        ("tmp", TestModel.importJob("tmp", "/var/tmp/a.csv"), "a folder /var/tmp of its own, which", "PrivateTmp="),
        (
          "srv",
          #"{"type": "image.encode", "id": "srv", "arguments": {"input": "in.jpg", "outputs": [{"path": "/srv/a.png"}]}}"#,
          "makes /srv read-only for the daemon; ", "ReadOnlyPaths="
        ),
        (
          "unseen",
          #"{"type": "image.encode", "id": "unseen", "arguments": {"input": "in.jpg", "outputs": [{"path": "/var/tmp/a.png"}]}}"#,
          "a folder /var/tmp of its own, which nobody else sees", "PrivateTmp="
        ),
      ]
      for (id, job, fault, setting) in jobs {
        try root.drop(job, as: FileName("\(id).json"))
        try await daemon.waitForLog("job \(id) (")
        let told = try #require(daemon.logLines.first { $0.contains("job \(id) (") })
        #expect(told.contains(": \(setting) of ") && told.contains(fault), "\(told)")
        #expect(told.contains("see SANDBOX in bobbind(8)"))
      }
      #expect(try await daemon.stop() == .exited(code: 0))
      // As many attempts are left as there were.
      #expect(
        try await root.sql("SELECT DISTINCT state, maxAttempts - attempt FROM Job WHERE attempt > 0") == "retryable|20")
      #expect(try await root.sql("SELECT count(*) FROM Job WHERE attempt > 0") == "4")
    }

    @Test("bobbinctl tells root what the jobs of any user can do with a path, and others what theirs can")
    func explaining() async throws {
      let hidden = try await daemon.tool("explain", "/home/anna/a.png", "--as", "4001")
      #expect(hidden.code == 1)
      let lines = hidden.output.split(separator: "\n")
      try #require(lines.count == 3)
      #expect(lines[0] == "jobs of user 4001, run by root (0):")
      #expect(lines[1].hasPrefix("can't read /home/anna/a.png: ProtectHome= of "))
      #expect(lines[1].contains("BindReadOnlyPaths=/home/anna, then"))
      #expect(lines[2].contains("BindPaths=/home/anna, then"))
      let locked = try await daemon.tool("explain", "/srv")
      #expect(locked.code == 1)
      #expect(locked.output.contains("can't write files in /srv: ReadOnlyPaths= of "))
      let open = try await daemon.tool("explain", root.paths.payload)
      #expect(
        (open.code, open.output) == (
          0, "jobs of root (0), run by root (0):\ncan write files in \(root.paths.payload)\n"
        ))
      // What no job may write, whatever the rights.
      for (path, reason) in [
        (root.paths.state, "the folder is the daemon's own"),
        (root.paths.spoolNew + "/x.webp", "the folder is the daemon's own"),
        ("/dev/null", "something other than a file is there"),
      ] {
        let own = try await daemon.tool("explain", path)
        #expect(
          own.code == 1 && own.output.contains("can't write") && own.output.contains(reason), "\(path): \(own.output)")
      }
      let read = try await daemon.tool("explain", "/etc/hostname", "--as", "nobody")
      #expect(read.code == 0)
      #expect(
        read.output.contains("\ncan read /etc/hostname\ncan't write /etc/hostname: nobody (65534) may not write to"))
      #expect(try await daemon.tool("explain", "/etc", "--as", "nobody-at-all").code == 64)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Who asks as another user is refused, and gets an answer for itself")
    func askingForOthers() async throws {
      try root.configure("[Status]\nReadAccess=everyone\n")
      _ = try await daemon.request("GET", "/v1/status")
      try await daemon.reload()
      let socket = ["--root", root.directory.path, "explain", "/etc/hostname"]
      let tool = try RepositoryPaths.executable("bobbinctl").path(percentEncoded: false)
      let own = try await OtherUser.stranger.run(tool, socket)
      #expect(own.code == 0 && own.output.contains("can read /etc/hostname"), "\(own)")
      let other = try await OtherUser.stranger.run(tool, socket + ["--as", "root"])
      #expect(other.code == 77 && other.errors.contains("may ask for other users"), "\(other)")
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }
}
