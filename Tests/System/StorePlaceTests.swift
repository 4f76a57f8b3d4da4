import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("A store at a place of its own")
  struct StorePlaceTests {
    private let root: DaemonRoot
    private let disk: TemporaryDirectory
    private var place: String { disk.path("store") }

    init() throws {
      root = try DaemonRoot()
      disk = try TemporaryDirectory()
    }

    private func configure(_ path: String?) throws {
      try root.configure(DaemonRoot.quickFlushes + (path.map { "[Store]\nPath=\($0)\n" } ?? ""))
    }

    /// Starts a daemon that must not start, and returns what it says.
    private func refusal(code: Int32 = 78) async throws -> String {
      let tool = try await Tool.run("bobbind", ["--root", root.directory.path])
      #expect(tool.code == code)
      return tool.output + tool.errors
    }

    private func move(_ from: String, _ to: String) throws {
      try FileManager.default.moveItem(atPath: from, toPath: to)
    }

    @Test("is made there, private, and no daemon begins an empty one because it is elsewhere")
    func moved() async throws {
      try configure(place + "/")
      var daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(#"{"type": "noop", "id": "known"}"#)
      #expect(try await daemon.tool("status").output.contains(place + "/bobbin.sqlite"))
      #expect(try Directory(path: place).status().mode == 0o700)
      #expect(try !Directory(path: root.paths.state).contains("bobbin.sqlite"))
      #expect(try await daemon.stop() == .exited(code: 0))
      // Tools find it without a daemon.
      let doctor = try await daemon.tool("doctor")
      #expect(doctor.output.contains("among 1 jobs"), "\(doctor.output)\(doctor.errors)")

      try configure(nil)
      let lost = try await refusal()
      #expect(lost.contains("there is one in \(place)") && lost.contains("Path=\(place)"), "\(lost)")
      let check = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(check.code == 78)
      // As if the file system were not mounted.
      try configure(place)
      try move(place, disk.path("away"))
      let unmounted = try await refusal()
      #expect(unmounted.contains("see that its file system is mounted"), "\(unmounted)")
      try #require(mkdir(place, 0o700) == 0)
      #expect(try await refusal().contains("see that its file system is mounted"))
      try #require(rmdir(place) == 0)

      try move(disk.path("away"), disk.path("new"))
      try configure(disk.path("new"))
      daemon = try await DaemonProcess.ready(root)
      #expect(try await daemon.tool("show", "known").code == 0)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("is not begun beside one at the usual place, and can go back there")
    func usualPlace() async throws {
      var daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(#"{"type": "noop", "id": "known"}"#)
      #expect(try await daemon.stop() == .exited(code: 0))
      try configure(place)
      let refused = try await refusal()
      #expect(refused.contains("there is one in \(root.paths.state)"), "\(refused)")
      try move(root.paths.state, place)
      try #require(mkdir(root.paths.state, 0o700) == 0)
      daemon = try await DaemonProcess.ready(root)
      #expect(try await daemon.tool("show", "known").code == 0)
      #expect(try await daemon.stop() == .exited(code: 0))
      try FileManager.default.removeItem(atPath: root.paths.state)
      try move(place, root.paths.state)
      try configure(nil)
      daemon = try await DaemonProcess.ready(root)
      #expect(try await daemon.tool("show", "known").code == 0)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("belongs to one daemon, whatever its root is, and to the daemon's user alone")
    func rights() async throws {
      try configure(place)
      let daemon = try await DaemonProcess.ready(root)
      let other = try DaemonRoot(DaemonRoot.quickFlushes + "[Store]\nPath=\(place)\n")
      let second = try await Tool.run("bobbind", ["--root", other.directory.path])
      #expect(second.code == 69 && (second.output + second.errors).contains(place + "/lock"))
      #expect(try await daemon.stop() == .exited(code: 0))
      try #require(chmod(place, 0o755) == 0)
      #expect(try await refusal().contains("chmod 700"))
      try configure(disk.path("none/store"))
      try FileManager.default.removeItem(atPath: root.paths.storePlace)
      #expect(try await refusal().contains("make that first"))
      try configure("relative")
      #expect(try await refusal().contains("Path=relative: expected an absolute path"))
      try root.configure("[Store]\nPath=\(place)\nUrl=postgresql://db/x\n")
      #expect(try await refusal().contains("[Store]: Path= and Url= exclude each other"))
    }

    @Test("behind a wall of the sandbox is refused with what opens it", .enabled(if: SkipReason.runsAsRoot()))
    func sandbox() async throws {
      try configure("/srv/bobbin-store")
      let script = "mount --bind /srv /srv && mount -o remount,bind,ro /srv && exec \"$0\" \"$@\""
      let program = try RepositoryPaths.executable("bobbind").path(percentEncoded: false)
      let tool = try await Tool.run(
        SeparateMounts.wrapper[0],
        SeparateMounts.wrapper.dropFirst() + ["/bin/sh", "-c", script, program, "--root", root.directory.path],
        environment: ["INVOCATION_ID": "17b4638f410c406ea94f65737f188426"])
      let text = tool.output + tool.errors
      #expect(tool.code == 78 && text.contains("makes /srv read-only for the daemon; open it: "), "\(text)")
      #expect(text.contains("ReadWritePaths="))
    }
  }
}
